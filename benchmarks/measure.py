"""Timing and a table: what every benchmark needs. Figures compare within one run only; machines differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line: what, ours, the same without us or by a peer, and what we promise, all in one unit."""

    what: str
    ours: float
    baseline: float | None = None
    unit: str = "ms"
    budget: float | None = None  # ours should be at most this
    over: str = ""  # what the baseline is


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def side_by_side(
    rounds: int, *works: Callable[[], object], before: Callable[[], object] | None = None
) -> list[list[float]]:
    """Seconds of each work, taken in turns, so that a busy moment of the machine hits all of them."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for at, work in enumerate(works):
            if before is not None:
                before()
            taken[at].append(seconds(work))
    return taken


def show(title: str, rows: Sequence[Row]) -> None:
    """Prints the table. A ratio below 1 means that ours takes less."""
    lines = [["", "ours", "baseline", "ratio", "budget"], *[_cells(row) for row in rows]]
    widths = [max(len(line[at]) for line in lines) for at in range(5)]
    print(title)
    for line in lines:
        first, *others = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("   ".join([first, *others]).rstrip())


def _cells(row: Row) -> list[str]:
    baseline = f"{number(row.baseline, row.unit)} ({row.over})" if row.baseline is not None else ""
    ratio = _ratio(row.ours / row.baseline) if row.baseline else ""
    budget = ""
    if row.budget is not None:
        budget = f"≤ {number(row.budget, row.unit)}" + ("" if row.ours <= row.budget else "  MISSED")
    return [row.what, number(row.ours, row.unit), baseline, ratio, budget]


def _ratio(value: float) -> str:
    """Two digits that say something, however small it is."""
    return f"{value:.2f}x" if value >= 0.1 else f"1/{1 / value:,.0f}" if value else "0x"


def number(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
