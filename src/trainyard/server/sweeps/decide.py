"""What happens next to a sweep, as a pure function of what is known about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trainyard.contract.runs import RunError
from trainyard.contract.states import TERMINAL, RunState
from trainyard.contract.sweeps import SweepSpec
from trainyard.tuning.history import History, Stop, Trial
from trainyard.tuning.policies import Policy
from trainyard.tuning.samplers import Sampler

_ENDING = frozenset({RunState.CANCEL_REQUESTED, RunState.FINALIZING})


@dataclass(frozen=True)
class Facts:
    state: RunState  # of the sweep itself
    now_ns: int
    until_ns: int  # when its time is over
    total: int
    started: int
    room: int  # how many children may be open at once
    history: History  # every child so far, by index
    open: Mapping[int, RunState]  # the children that are not over
    ends: Mapping[RunState, int] = field(default_factory=dict)  # how those that are over have ended
    resumed: Sequence[Mapping[str, Any]] = ()  # the samples of the runs that are gone on with
    error: RunError | None = None  # of the first child that failed


@dataclass(frozen=True)
class Start:
    index: int
    parameters: dict[str, Any]
    outputs_of: int | None = None  # the child whose outputs it begins with
    resumes: int | None = None  # which of `resumed` it goes on with


@dataclass(frozen=True)
class End:
    state: RunState | None  # None: it has ended already
    reason: str
    error: RunError | None = None


@dataclass(frozen=True)
class Decision:
    stops: tuple[Stop, ...] = ()  # of the policy
    cancels: tuple[int, ...] = ()  # because the whole sweep ends
    starts: tuple[Start, ...] = ()
    end: End | None = None


def decide(facts: Facts, sampler: Sampler, policy: Policy) -> Decision:
    if (ending := _why_it_ends(facts)) is not None:
        left = tuple(index for index, state in facts.open.items() if state not in _ENDING)
        return Decision(cancels=left, end=None if facts.open else ending)
    stops = tuple(stop for stop in policy.stops(facts.history) if facts.open.get(stop.index) not in (None, *_ENDING))
    starts = _starts(facts, sampler)
    if facts.open or starts:
        return Decision(stops, (), starts)
    return Decision(end=_outcome(facts))


def resume_order(facts: Facts, index: int) -> Start | None:
    """The first children go on with the runs that were named, one each."""
    if index < len(facts.resumed):
        return Start(index, dict(facts.resumed[index]), resumes=index)
    return None


def _why_it_ends(facts: Facts) -> End | None:
    if facts.state in TERMINAL:
        return End(None, "Ended by its owner")
    if facts.state is RunState.CANCEL_REQUESTED:
        return End(RunState.CANCELED, "Canceled, with its children")
    if facts.now_ns >= facts.until_ns:
        return End(RunState.COMPLETED, "max_duration_minutes is over; children that still ran were canceled")
    return None


def _starts(facts: Facts, sampler: Sampler) -> tuple[Start, ...]:
    found: list[Start] = []
    history = facts.history
    while len(facts.open) + len(found) < facts.room and facts.started + len(found) < facts.total:
        index = facts.started + len(found)
        start = resume_order(facts, index) or _proposed(facts, sampler, history, index)
        if start is None:
            break
        found.append(start)
        # what was just proposed is part of what the next proposal knows
        history = replace(history, trials=[*history.trials, Trial(index, start.parameters)])
    return tuple(found)


def _proposed(facts: Facts, sampler: Sampler, history: History, index: int) -> Start | None:
    proposal = sampler.propose(index - len(facts.resumed), history)
    return Start(index, proposal.parameters, proposal.outputs_from) if proposal is not None else None


def _outcome(facts: Facts) -> End:
    failed = facts.ends.get(RunState.FAILED, 0)
    if failed and failed == sum(facts.ends.values()):
        first = facts.error or RunError("ChildFailed", "see their logs")
        said = f"All {failed} children failed; the first of them, {first.message}"
        return End(RunState.FAILED, said, RunError(first.code, said, last_lines=first.last_lines))
    return End(RunState.COMPLETED, "All children have ended")


def total_of(spec: SweepSpec, sampler: Sampler) -> int:
    """How many children there will be: a grid may have fewer points than were asked for."""
    if sampler.total is None:
        return spec.max_total_runs
    return min(spec.max_total_runs, sampler.total + len(spec.resume_child_runs))


def room_of(spec: SweepSpec, sampler: Sampler, fits: int) -> int:
    """How many children may be open. More than fit at once are of use only to be there when a node is free: a sampler
    that learns waits until then, so that it knows more."""
    fits = max(1, fits)
    useful = fits if sampler.learns else 2 * fits
    return useful if spec.max_concurrent_runs is None else min(spec.max_concurrent_runs, useful)
