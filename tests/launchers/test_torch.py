from __future__ import annotations

from trainyard.contract.attempts import Peer
from trainyard.contract.runs import Role, RunSpec
from trainyard.launchers import find_launcher
from trainyard.launchers.base import NodeView, Process

TWO = (Peer(0, "a", "10.0.0.1", (20001,)), Peer(1, "b", "10.0.0.2", (20002,)))
THREE_RANKS = RunSpec(script="train.py", arguments=("$AZ_BATCHAI_TASK_INDEX",), nodes=2, roles=(Role("worker", 3),))


def test_the_second_node_of_three_processes() -> None:
    view = NodeView(1, TWO, "/env/bin/python", shared="/yard/a b")
    assert find_launcher("torch")(THREE_RANKS, view) == [
        Process(
            rank=2,
            local_rank=0,
            role="worker",
            argv=("/env/bin/python", "train.py"),
            arguments=("$AZ_BATCHAI_TASK_INDEX",),
            log="azureml-logs/70_driver_log_2.txt",
            variables={
                "MASTER_ADDR": "10.0.0.1",
                "MASTER_PORT": "20001",
                "WORLD_SIZE": "3",
                "NODE_RANK": "1",
                "LOCAL_WORLD_SIZE": "1",
                "AZ_BATCHAI_PYTORCH_INIT_METHOD": "file:///yard/a%20b/torch-init",
                "RANK": "2",
                "LOCAL_RANK": "0",
                "AZ_BATCHAI_TASK_INDEX": "2",
            },
        )
    ]


def test_the_first_node_has_one_more() -> None:
    processes = find_launcher("torch")(THREE_RANKS, NodeView(0, TWO, "python"))
    said = [(one.variables["RANK"], one.variables["LOCAL_RANK"], one.variables["NODE_RANK"]) for one in processes]
    assert said == [("0", "0", "0"), ("1", "1", "0")]


def test_nodes_that_share_no_disk_meet_at_a_port() -> None:
    process = find_launcher("torch")(THREE_RANKS, NodeView(1, TWO, "python"))[0]
    assert process.variables["AZ_BATCHAI_PYTORCH_INIT_METHOD"] == "tcp://10.0.0.1:20001"


def test_one_process_per_node_when_nothing_is_said() -> None:
    process = find_launcher("torch")(RunSpec(script="train.py", nodes=2), NodeView(1, TWO, "python"))[0]
    assert (process.rank, process.variables["WORLD_SIZE"]) == (1, "2")
