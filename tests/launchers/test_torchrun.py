from __future__ import annotations

from trainyard.contract.attempts import Peer
from trainyard.contract.runs import Role, RunSpec
from trainyard.launchers import find_launcher
from trainyard.launchers.base import NodeView

TWO = (Peer(0, "a", "10.0.0.1", (20001,)), Peer(1, "b", "10.0.0.2", (20002,)))
SPEC = RunSpec(
    script="train.py", arguments=("--seed", "$SEED"), nodes=2, min_nodes=1, max_restarts=3, roles=(Role("worker", 4),)
)


def test_a_node_of_two_starts_its_half_of_the_processes() -> None:
    [process] = find_launcher("torchrun")(SPEC, NodeView(1, TWO, "/env/bin/python", folder="/yard/node-1"))
    assert process.argv[:13] == (
        "/env/bin/python",
        "-m",
        "torch.distributed.run",
        "--nnodes=2",
        "--nproc-per-node=2",
        "--max-restarts=3",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=10.0.0.1:20001",
        "--rdzv-id=trainyard",
        "--rdzv-conf=is_host=0",
        "--local-addr=10.0.0.2",
        "--no-python",
        "/bin/sh",
    )
    assert process.argv[-2:] == ("/env/bin/python", "train.py")
    assert process.arguments == ("--seed", "$SEED")
    assert (process.rank, process.ranks, process.log) == (2, (2, 3), "azureml-logs/70_torchrun_log_1.txt")
    assert process.variables == {
        "TRAINYARD_NODE": "/yard/node-1",
        "TRAINYARD_FIRST": "2",
        "NODE_RANK": "1",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "AZ_BATCHAI_PYTORCH_INIT_METHOD": "env://",
    }


def test_an_attempt_with_fewer_nodes_has_fewer_processes_and_as_many_on_each() -> None:
    [process] = find_launcher("torchrun")(SPEC, NodeView(0, TWO[:1], "python"))
    assert {"--nnodes=1", "--nproc-per-node=2", "--rdzv-conf=is_host=1"} < set(process.argv)
    assert process.ranks == (0, 1)
