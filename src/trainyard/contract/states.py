"""The states of a run, in Azure's words, and the one table that says how they may move."""

from __future__ import annotations

from enum import StrEnum

from trainyard.contract.errors import IllegalMove


class RunState(StrEnum):
    NOT_STARTED = "NotStarted"  # accepted: a row exists, nothing was done for it yet
    PREPARING = "Preparing"  # its environment is being resolved or built
    QUEUED = "Queued"  # waiting until all its nodes are free at once
    PROVISIONING = "Provisioning"  # nodes are being brought up for it
    STARTING = "Starting"  # agents are being placed and meet
    RUNNING = "Running"  # the user's processes run (or the interactive run is open)
    CANCEL_REQUESTED = "CancelRequested"  # somebody wants it gone; processes are being ended
    FINALIZING = "Finalizing"  # processes are gone; files are being collected
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"


TERMINAL = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELED})
ACTIVE = frozenset(RunState) - TERMINAL

_ENDS = {RunState.FAILED, RunState.CANCELED}

# Within one attempt a run only ever moves along these. A requeue is not a move: it is a new attempt (see `restart`).
MOVES: dict[RunState, frozenset[RunState]] = {
    RunState.NOT_STARTED: frozenset(
        # straight to RUNNING: an interactive run has no agent to wait for
        {RunState.PREPARING, RunState.QUEUED, RunState.RUNNING, RunState.CANCEL_REQUESTED, *_ENDS}
    ),
    RunState.PREPARING: frozenset({RunState.QUEUED, RunState.CANCEL_REQUESTED, *_ENDS}),
    RunState.QUEUED: frozenset({RunState.PROVISIONING, RunState.STARTING, RunState.CANCEL_REQUESTED, *_ENDS}),
    RunState.PROVISIONING: frozenset({RunState.STARTING, RunState.CANCEL_REQUESTED, *_ENDS}),
    # straight to FINALIZING: a short attempt can start and finish between two looks
    RunState.STARTING: frozenset({RunState.RUNNING, RunState.FINALIZING, RunState.CANCEL_REQUESTED, *_ENDS}),
    RunState.RUNNING: frozenset({RunState.FINALIZING, RunState.COMPLETED, RunState.CANCEL_REQUESTED, *_ENDS}),
    RunState.CANCEL_REQUESTED: frozenset({RunState.FINALIZING, *_ENDS}),
    RunState.FINALIZING: frozenset({RunState.COMPLETED, *_ENDS}),
    RunState.COMPLETED: frozenset(),
    RunState.FAILED: frozenset(),
    RunState.CANCELED: frozenset(),
}

# States from which losing the nodes (a preemption) leads to a new attempt instead of an end.
RESTARTABLE = frozenset({RunState.PROVISIONING, RunState.STARTING, RunState.RUNNING, RunState.FINALIZING})


def move(run_id: str, now: RunState, to: RunState) -> RunState:
    """The new state, or IllegalMove. Every write of a run's state goes through here or `restart`."""
    if to not in MOVES[now]:
        raise IllegalMove(run_id, now, to)
    return to


def restart(run_id: str, now: RunState) -> RunState:
    """The state of a run's next attempt, or IllegalMove when the run is past having one."""
    if now not in RESTARTABLE:
        raise IllegalMove(run_id, now, RunState.QUEUED)
    return RunState.QUEUED


class AgentState(StrEnum):
    """What a backend says of the agents it placed for one attempt; foreign words are translated into these."""

    WAITING = "waiting"  # the engine has it and has not started it
    RUNNING = "running"
    DONE = "done"  # every agent exited with 0
    FAILED = "failed"  # an agent exited otherwise, or was killed
    LOST = "lost"  # the engine does not know it (any more)
