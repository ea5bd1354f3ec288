from __future__ import annotations

import pytest

from trainyard.contract.attempts import Peer
from trainyard.contract.runs import Role, RunSpec
from trainyard.launchers import find_launcher
from trainyard.launchers.base import NodeView

LOGICAL = (Peer(0, "here", "127.0.0.1", (20001, 20002)), Peer(1, "here", "127.0.0.1", (20003, 20004)))
APART = (Peer(0, "a", "10.0.0.1", (20001, 20002)), Peer(1, "b", "10.0.0.2", (20003, 20004)))


@pytest.mark.parametrize("launcher", ["mpi", "torch", "torchrun"])
@pytest.mark.parametrize(
    ("peers", "processes", "processors", "threads"),
    [
        (LOGICAL, 2, 8, "4"),  # two nodes that are one machine
        (LOGICAL, 4, 8, "2"),
        (LOGICAL, 4, 2, "1"),
        (APART, 4, 8, "4"),
        (APART, 2, 8, None),  # a machine of its own: all processors
        (LOGICAL[:1], 1, 8, None),
    ],
)
def test_processes_on_one_machine_share_its_processors(
    launcher: str, peers: tuple[Peer, ...], processes: int, processors: int, threads: str | None
) -> None:
    spec = RunSpec(script="train.py", nodes=len(peers), roles=(Role("worker", processes),))
    for index in range(len(peers)):
        view = NodeView(index, peers, "python", mpirun="/o/mpirun", processors=processors)
        for process in find_launcher(launcher)(spec, view):
            assert process.defaults.get("OMP_NUM_THREADS") == threads
