"""Metrics as they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class MetricSeries:
    """All values of one metric of one run, in the order of their times. Values are as they were logged; a row or
    table is a dict with the key `row` or `table`, what refers to a file of the run one with the key `artifact`."""

    name: str
    values: tuple[Any, ...]
    steps: tuple[int | None, ...]
    times_ns: tuple[int, ...]
    description: str | None = None


@dataclass(frozen=True)
class MetricSummary:
    """Kept up to date as values arrive, for sorting and search; numbers only count towards min and max."""

    name: str
    count: int
    last: float | None
    min: float | None
    max: float | None
    last_text: str | None = None
    last_step: int | None = None
    last_ns: int | None = field(default=None, compare=False)


AXES = ("step", "time", "index")


@dataclass(frozen=True)
class MetricChart:
    """One metric thinned out for a screen. Steps are whole numbers, times UTC nanoseconds."""

    name: str
    axis: str  # one of AXES
    count: int  # of values there are on this part of the axis
    lost: int  # of those, the ones no line goes through: NaN, infinities, texts
    x: tuple[int, ...]
    y: tuple[float, ...]
