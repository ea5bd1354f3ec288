"""What samplers and policies know of a sweep: its trials and what they have logged."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trainyard.contract.sweeps import Goal


@dataclass(frozen=True)
class Trial:
    index: int
    parameters: dict[str, Any]
    over: bool = False
    values: tuple[float, ...] = ()  # of the primary metric, in the order they were logged; NaN where it was no number

    # What policies ask of the first n reports, for every n: a run that reports a million times is judged as quickly as
    # one that reports twice.

    @cached_property
    def finite(self) -> tuple[float, ...]:
        return tuple(value for value in self.values if math.isfinite(value))

    @cached_property
    def highs(self) -> tuple[float, ...]:
        return tuple(itertools.accumulate((v if math.isfinite(v) else -math.inf for v in self.values), max))

    @cached_property
    def lows(self) -> tuple[float, ...]:
        return tuple(itertools.accumulate((v if math.isfinite(v) else math.inf for v in self.values), min))

    @cached_property
    def sums(self) -> tuple[float, ...]:
        return tuple(itertools.accumulate(v if math.isfinite(v) else 0.0 for v in self.values))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        return tuple(itertools.accumulate(int(math.isfinite(v)) for v in self.values))


@dataclass(frozen=True)
class History:
    goal: Goal
    trials: Sequence[Trial] = ()
    earlier: Sequence[Trial] = field(default=())  # of sweeps that this one goes on from

    def score(self, value: float) -> float:
        """Higher is better, whatever the goal."""
        return value if self.goal is Goal.MAXIMIZE else -value

    def best(self, trial: Trial, reports: int | None = None) -> float | None:
        """The best score ever of a trial, or among its first `reports`; None when it logged no number."""
        at = len(trial.values) if reports is None else min(reports, len(trial.values))
        if at == 0 or trial.counts[at - 1] == 0:
            return None
        return self.score((trial.highs if self.goal is Goal.MAXIMIZE else trial.lows)[at - 1])

    def last(self, trial: Trial) -> float | None:
        """The score it ended with; None when it logged no number."""
        return self.score(trial.finite[-1]) if trial.finite else None

    def average(self, trial: Trial, reports: int) -> float | None:
        """The mean score among its first `reports`; None when none of them is a number."""
        at = min(reports, len(trial.values))
        if at == 0 or trial.counts[at - 1] == 0:
            return None
        return self.score(trial.sums[at - 1] / trial.counts[at - 1])


@dataclass(frozen=True)
class Proposal:
    parameters: dict[str, Any]
    outputs_from: int | None = None  # the trial of this sweep whose outputs it begins with


@dataclass(frozen=True)
class Stop:
    index: int
    why: str
