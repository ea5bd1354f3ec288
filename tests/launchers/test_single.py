from __future__ import annotations

import pytest

from trainyard.contract.attempts import Peer
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.runs import RunSpec
from trainyard.launchers import LAUNCHERS, find_launcher
from trainyard.launchers.base import NodeView, Process

ONE = (Peer(0, "a", "10.0.0.1"),)
TWO = (*ONE, Peer(1, "b", "10.0.0.2"))


@pytest.mark.parametrize(
    ("spec", "node", "expected"),
    [
        (
            RunSpec(script="train.py", arguments=("--lr", "0.1")),
            NodeView(0, ONE, "/env/bin/python"),
            Process(
                0,
                0,
                "worker",
                ("/env/bin/python", "train.py"),
                "azureml-logs/70_driver_log.txt",
                arguments=("--lr", "0.1"),
            ),
        ),
        (
            RunSpec(command="make all"),
            NodeView(1, TWO, "/env/bin/python", "/bin/bash"),
            Process(1, 0, "worker", ("/bin/bash", "-c", "make all"), "azureml-logs/70_driver_log_1.txt"),
        ),
    ],
)
def test_one_process_per_node(spec: RunSpec, node: NodeView, expected: Process) -> None:
    assert find_launcher("single")(spec, node) == [expected]


@pytest.mark.parametrize("name", sorted(LAUNCHERS))
def test_a_run_of_nothing_is_refused(name: str) -> None:
    peers = (Peer(0, "a", "10.0.0.1", (2222, 2223)),)
    with pytest.raises(InvalidRequest, match="neither a script nor a command"):
        find_launcher(name)(RunSpec(), NodeView(0, peers, "python", mpirun="/usr/bin/mpirun"))


def test_an_unknown_launcher_names_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match="there are: mpi, single, tf_config, torch, torchrun"):
        find_launcher("carrier-pigeon")
