"""What happens next to a run, as a pure function of what is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trainyard.contract.attempts import NodeEnded
from trainyard.contract.runs import RunError
from trainyard.contract.states import AgentState, RunState

SECOND = 1_000_000_000

# How long a run may be in a state, and the sentence when it was longer. RUNNING has the run's own limit.
DEADLINES_S: dict[RunState, tuple[int, str]] = {
    RunState.NOT_STARTED: (7 * 86_400, "nobody started it within 7 days. Start it or submit it again"),
    RunState.PREPARING: (
        2 * 3600,
        "its environment was not ready within 2 hours. See the build log and submit it again",
    ),
    RunState.QUEUED: (
        30 * 86_400,
        "its nodes were not free within 30 days. Raise max_nodes of its target, or ask for fewer",
    ),
    RunState.PROVISIONING: (1800, "its nodes did not come up within 30 minutes. See `trainyard compute show`"),
    RunState.STARTING: (600, "its agents did not all report within 10 minutes. Submit it again"),
    RunState.CANCEL_REQUESTED: (
        120,
        "its agents did not confirm the cancel within 2 minutes; they were ended by force",
    ),
    RunState.FINALIZING: (3600, "its files were not collected within an hour. Files collected so far are kept"),
}
RUNNING_MARGIN_S = 300  # agents keep the run's own time limit; this is for agents that do not


class StopReason(StrEnum):
    CANCEL = "cancel"
    PREEMPT = "preempt"
    FAIL = "fail"  # the service gave the attempt up
    DONE = "done"  # all that is waited for has ended well; agents end what only served, and are left in peace


@dataclass(frozen=True)
class NodeFacts:
    node: int
    arrived: bool = False
    started_ns: int | None = None
    ended: NodeEnded | None = None
    final: bool = False
    ended_ns: int = 0  # when the service heard of its end


@dataclass(frozen=True)
class Facts:
    state: RunState
    run_id: str
    now_ns: int
    deadline_ns: int | None
    nodes: tuple[NodeFacts, ...] = ()
    stop: StopReason | None = None
    placed: bool = False
    observed: AgentState | None = None  # None: nobody looked
    detail: str = ""
    silent_s: float = 0.0  # since an agent of it was last heard
    attempt: int = 1
    max_restarts: int = 0  # of the run, when nodes of it are lost

    @property
    def started_ns(self) -> int | None:
        """When the processes of every node had been started."""
        times = [node.started_ns for node in self.nodes if node.started_ns is not None]
        return max(times) if times and len(times) == len(self.nodes) else None


@dataclass(frozen=True)
class Move:
    to: RunState
    reason: str
    error: RunError | None = None


@dataclass(frozen=True)
class Restart:
    """The attempt is over, the run is not."""

    reason: str


Step = Move | Restart

_WITH_AGENTS = frozenset({RunState.STARTING, RunState.RUNNING, RunState.CANCEL_REQUESTED, RunState.FINALIZING})
_CANCELED = "Its processes were ended, as was asked"
_MOST_PLACINGS = 3
_SILENCE_S = 5.0  # an agent heard this recently is alive, even if its engine does not know it


def decide(facts: Facts) -> tuple[Step, ...]:
    """The steps to take now, in order; none when there is nothing to do but wait."""
    if facts.state in _WITH_AGENTS and facts.nodes:
        if all(node.ended is not None for node in facts.nodes):
            return _after_the_end(facts)
        if _gone(facts):
            return _agents_gone(facts)
        if facts.state is RunState.STARTING and facts.stop is None and facts.started_ns is not None:
            return (Move(RunState.RUNNING, "All processes have been started"),)
    if facts.deadline_ns is not None and facts.now_ns >= facts.deadline_ns:
        return (_too_late(facts),)
    return ()


def _after_the_end(facts: Facts) -> tuple[Step, ...]:
    """Every node's processes are gone; the run is over once every node has delivered its files."""
    finalizing: tuple[Step, ...] = ()
    if facts.state is not RunState.FINALIZING:
        finalizing = (Move(RunState.FINALIZING, "The processes have ended; collecting files"),)
    if not all(node.final for node in facts.nodes):
        if _gone(facts):
            return (*finalizing, *_outcome(facts, " (some files may not have been collected: an agent died)"))
        late = facts.deadline_ns is not None and facts.now_ns >= facts.deadline_ns
        return (_too_late(facts),) if late and facts.state is RunState.FINALIZING else finalizing
    return (*finalizing, *_outcome(facts))


def _outcome(facts: Facts, note: str = "") -> tuple[Step, ...]:
    if facts.stop is StopReason.CANCEL:
        return (Move(RunState.CANCELED, f"{_CANCELED}{note}"),)
    if facts.stop is StopReason.PREEMPT:
        return (Restart("Its low-priority node was taken away; it is started again"),)
    failed = [
        ((ended.taken_along, ended.stopped, ended.error.rank is None, node.ended_ns, node.node), ended.error)
        for node in facts.nodes
        if (ended := node.ended) is not None and ended.error is not None
    ]
    if failed:
        # what failed by itself before what it took along, a process before the program that only watched it, and of
        # those whoever was first: the others often fail because it is gone
        _, error = min(failed, key=lambda one: one[0])
        return (Move(RunState.FAILED, error.message + note, error),)
    return (Move(RunState.COMPLETED, f"The script ended with exit code 0{note}"),)


def _gone(facts: Facts) -> bool:
    if facts.observed is AgentState.LOST:
        return facts.silent_s > _SILENCE_S
    return facts.observed in (AgentState.DONE, AgentState.FAILED)


def _agents_gone(facts: Facts) -> tuple[Step, ...]:
    """The engine says the agents are no more, and they did not say goodbye."""
    if facts.stop is StopReason.CANCEL or facts.state is RunState.CANCEL_REQUESTED:
        return (Move(RunState.CANCELED, _CANCELED),)
    if facts.stop is StopReason.PREEMPT:
        return (Restart("Its low-priority node was taken away; it is started again"),)
    unmet = facts.state is RunState.STARTING and any(not node.arrived for node in facts.nodes)
    if unmet and facts.attempt < _MOST_PLACINGS:  # they never met, so no node was told to begin: nothing runs twice
        return (Restart("Its agents were lost before they met; they are placed again"),)
    silent = [node.node for node in facts.nodes if not node.final]
    where = ", ".join(f"node-{number}" for number in silent) or "a node"
    who = f"The agents on {where}" if len(silent) > 1 else f"The agent on {where}"
    why = f" ({facts.detail})" if facts.detail else ""
    if facts.attempt <= facts.max_restarts:
        return (Restart(f"{who} died{why}; the run is started again (max_restarts={facts.max_restarts})"),)
    message = (
        f"{who} died{why}; the processes there were ended. Metrics, logs and files that had been "
        "sent are kept. Submit the run again; if it happens again, look for what ends processes on that machine."
    )
    return (Move(RunState.FAILED, message, RunError("AgentDied", message, node=silent[0] if silent else None)),)


def _too_late(facts: Facts) -> Move:
    if facts.state is RunState.CANCEL_REQUESTED:
        return Move(RunState.CANCELED, f"Canceled; {DEADLINES_S[facts.state][1]}")
    if facts.stop is StopReason.CANCEL:
        return Move(RunState.CANCELED, "Canceled; collecting its files took too long")
    if facts.state is RunState.RUNNING:
        message = (
            "The run took longer than its time limit (max_run_duration_seconds). Raise it, or make the run shorter."
        )
    else:
        missing = [f"node-{node.node}" for node in facts.nodes if not node.arrived]
        named = f" ({', '.join(missing)} never came)" if missing and facts.state is RunState.STARTING else ""
        message = f"The run was {facts.state} too long: {DEADLINES_S[facts.state][1]}{named}."
    return Move(RunState.FAILED, message, RunError("DeadlineMissed", message))
