"""Early termination: which of the running trials are hopeless. An interval is one report of the primary metric. A trial
is judged at the last interval it has reached that the policy looks at, against what the others had at that interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from trainyard.contract.sweeps import Goal
from trainyard.contract.sweeps import Policy as PolicyName
from trainyard.tuning.history import History, Stop, Trial


class Policy(Protocol):
    def stops(self, history: History) -> list[Stop]:
        """The running trials that are to be ended now."""


@dataclass(frozen=True)
class Never:
    def stops(self, history: History) -> list[Stop]:
        del history
        return []


@dataclass(frozen=True)
class Bandit:
    interval: int = 1
    delay: int = 0
    factor: float | None = None
    amount: float | None = None

    def stops(self, history: History) -> list[Stop]:
        found = []
        for at, trials in _due(history, self.interval, self.delay):
            best = max(score for trial in _reached(history, at) if (score := history.best(trial, at)) is not None)
            allowed = self._allowed(best, history.goal)
            for trial in trials:
                own = history.best(trial, at)
                if own is not None and own < allowed:
                    found.append(Stop(trial.index, _worse(history, own, at, "what the slack allows", allowed)))
        return found

    def _allowed(self, best: float, goal: Goal) -> float:
        if self.factor is None:
            return best - (self.amount or 0.0)
        # best / (1 + factor) when maximising, best * (1 + factor) when minimising; for numbers below zero the slack
        # still makes the bound weaker than the best
        share = self.factor if goal is Goal.MINIMIZE else 1 - 1 / (1 + self.factor)
        return best - abs(best) * share


@dataclass(frozen=True)
class Median:
    interval: int = 1
    delay: int = 0

    def stops(self, history: History) -> list[Stop]:
        found = []
        for at, trials in _due(history, self.interval, self.delay):
            averages = [history.average(trial, at) for trial in _reached(history, at)]
            middle = median(average for average in averages if average is not None)
            for trial in trials:
                own = history.best(trial, at)
                if own is not None and own < middle:
                    found.append(Stop(trial.index, _worse(history, own, at, "the median of averages", middle)))
        return found


@dataclass(frozen=True)
class Truncation:
    percentage: int
    interval: int = 1
    delay: int = 0

    def stops(self, history: History) -> list[Stop]:
        found = []
        for at, trials in _due(history, self.interval, self.delay):
            ranked = _ranked(history, _reached(history, at), at)
            share = math.floor(len(ranked) * self.percentage / 100)
            lowest = {trial.index: own for own, trial in ranked[len(ranked) - share :]}
            found += [
                Stop(trial.index, f"at interval {at} it is among the lowest {self.percentage} % of {len(ranked)} runs")
                for trial in trials
                if trial.index in lowest
            ]
        return found


@dataclass(frozen=True)
class Asha:
    """Asynchronous successive halving: at intervals `first`, `first * factor`, `first * factor²` … a trial goes on
    while it is among the best 1/factor of those that came as far. At its `longest`, where that is known, it is
    through, and ending it would only keep it from saving what it has learned."""

    first: int = 1
    factor: int = 3
    longest: int | None = None

    def stops(self, history: History) -> list[Stop]:
        found: list[Stop] = []
        for trial in history.trials:
            rung = self._rung(len(trial.values))
            if trial.over or rung is None:
                continue
            ranked = _ranked(history, _reached(history, rung), rung)
            keep = math.ceil(len(ranked) / self.factor)
            if len(ranked) >= self.factor and trial.index in {other.index for _, other in ranked[keep:]}:
                why = f"at interval {rung} it is not among the best {keep} of {len(ranked)} runs"
                found.append(Stop(trial.index, why))
        return found

    def _rung(self, reports: int) -> int | None:
        if reports < self.first:
            return None
        rung = self.first
        while rung * self.factor <= reports:
            rung *= self.factor
        return None if self.longest is not None and reports >= self.longest else rung


@dataclass(frozen=True)
class Hyperband:
    """Several successive halvings that differ in how early they begin to stop. Trials are dealt to them by index, so
    that each bracket costs about as much as another."""

    longest: int
    factor: int = 3

    def stops(self, history: History) -> list[Stop]:
        brackets = self.brackets()
        found: list[Stop] = []
        for first in sorted(set(brackets)):
            mine = [trial for trial in history.trials if brackets[trial.index % len(brackets)] == first]
            found += Asha(first, self.factor, self.longest).stops(History(history.goal, mine))
        return found

    def brackets(self) -> list[int]:
        """The first rung of trial 0, 1, 2 …; then from the beginning again."""
        deepest = 0
        while self.factor ** (deepest + 1) <= self.longest:
            deepest += 1
        dealt = []
        for level in range(deepest, -1, -1):
            size = math.ceil((deepest + 1) / (level + 1) * self.factor**level)
            dealt += [max(1, self.longest // self.factor**level)] * size
        return dealt


def make_policy(policy: PolicyName, properties: dict[str, Any]) -> Policy:
    interval = int(properties.get("evaluation_interval") or 1)
    delay = int(properties.get("delay_evaluation") or 0)
    factor = int(properties.get("reduction_factor") or 3)
    makers: dict[PolicyName, Callable[[], Policy]] = {
        PolicyName.NONE: Never,
        PolicyName.BANDIT: lambda: Bandit(
            interval, delay, properties.get("slack_factor"), properties.get("slack_amount")
        ),
        PolicyName.MEDIAN: lambda: Median(interval, delay),
        PolicyName.TRUNCATION: lambda: Truncation(int(properties["truncation_percentage"]), interval, delay),
        PolicyName.ASHA: lambda: Asha(int(properties.get("min_intervals") or 1), factor),
        PolicyName.HYPERBAND: lambda: Hyperband(int(properties["max_intervals"]), factor),
    }
    return makers[policy]()


def _due(history: History, interval: int, delay: int) -> Iterator[tuple[int, list[Trial]]]:
    """Interval → the running trials that are judged at it. Those without a number so far are left alone."""
    due: dict[int, list[Trial]] = {}
    for trial in history.trials:
        at = len(trial.values) // interval * interval
        if not trial.over and at > 0 and at >= delay and history.best(trial, at) is not None:
            due.setdefault(at, []).append(trial)
    yield from sorted(due.items())


def _reached(history: History, at: int) -> list[Trial]:
    """The trials, over or not, that have reported as often."""
    return [trial for trial in history.trials if len(trial.values) >= at]


def _ranked(history: History, trials: list[Trial], at: int) -> list[tuple[float, Trial]]:
    """Best first; of equals the earlier. Without a number: last."""
    scored = [(-math.inf if (best := history.best(trial, at)) is None else best, trial) for trial in trials]
    return sorted(scored, key=lambda each: (-each[0], each[1].index))


def _worse(history: History, own: float, at: int, than: str, bound: float) -> str:
    return f"at interval {at} its best is {history.score(own):g}, worse than {than} ({history.score(bound):g})"
