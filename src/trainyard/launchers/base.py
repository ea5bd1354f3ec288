"""What a launcher is given and what it answers. A launcher is pure: it touches nothing, so its tests are tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trainyard.contract.attempts import Peer
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.runs import RunSpec


@dataclass(frozen=True)
class NodeView:
    """What one node knows when every node of the attempt has arrived."""

    index: int
    peers: tuple[Peer, ...]  # all nodes of the attempt, this one included, in order
    interpreter: str  # of the run's environment
    shell: str = "/bin/sh"
    folder: str = ""  # this node's own: logs and job contexts of its processes are in it
    shared: str | None = None  # a folder of the attempt that every node sees; None: they share no disk
    mpirun: str | None = None  # the program, when this node has one
    processors: int = 1  # of its machine, which other nodes of the attempt may share

    @property
    def me(self) -> Peer:
        return self.peers[self.index]

    @property
    def on_this_machine(self) -> list[Peer]:
        """The nodes that share this one's machine, itself included."""
        return [peer for peer in self.peers if peer.host == self.me.host]


@dataclass(frozen=True)
class Process:
    """One process to start on this node. `variables` come on top of the job's."""

    rank: int
    local_rank: int
    role: str
    argv: tuple[str, ...]  # () when a program on another node has it started, through this node's agent
    log: str  # the name of the run's log that its output goes to
    variables: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)  # variables too; whatever the job says of them itself wins
    arguments: tuple[str, ...] = ()  # the end of its command line; `$NAME` in them is expanded on the node
    serves: bool = False  # it serves the others and never ends by itself: stopped when all others are done
    ranks: tuple[int, ...] = ()  # the ranks that it starts on this node, when it is not one itself
    listens: tuple[str, int] | None = None  # with no argv: where its agent takes the line to run


def fair_threads(node: NodeView, processes: int) -> dict[str, str]:
    """For `processes` that share this node's machine. Left to themselves, the libraries that compute with threads take
    all processors in each of them, and then wait for one another."""
    return {"OMP_NUM_THREADS": str(max(1, node.processors // processes))} if processes > 1 else {}


Launcher = Callable[[RunSpec, NodeView], list[Process]]


def command_of(spec: RunSpec, node: NodeView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What every process runs: the command line and the arguments to expand."""
    if spec.command is not None:
        return (node.shell, "-c", spec.command), ()
    if spec.script is not None:
        return (node.interpreter, spec.script), spec.arguments
    raise InvalidRequest("The run has neither a script nor a command. Submit it again with one of them.")
