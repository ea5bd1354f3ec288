"""A sweep as a table of text: drawn anew on a terminal while it runs, printed once elsewhere."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from trainyard.contract.runs import RunRecord
from trainyard.contract.states import TERMINAL, RunState
from trainyard.contract.sweeps import Goal, SweepChild, SweepRecord, as_argument
from trainyard.sdk.errors import ServiceException
from trainyard.sdk.runs.screen import put

_HEADINGS = ("run", "status", "best", "last", "reports", "time")
_FIRST_TO_GO = ("last", "reports", "time")  # where the terminal is narrow: what was tried says more than these
_EVERY_S = 1.0
_WIDTH, _HEIGHT = 100, 40  # of a terminal that does not say
_UP, _CLEAR = "\x1b[{}A\r", "\x1b[J"


def render(sweep: SweepRecord, width: int = 100, most: int | None = None, now_ns: int | None = None) -> list[str]:
    """A line that sums up, a heading, and a line for each child: those that run first, then the best."""
    ranked = _ordered(sweep)
    shown = ranked if most is None else ranked[: max(1, most)]
    now = time.time_ns() if now_ns is None else now_ns
    best = best_of(sweep)
    rows = [[*_HEADINGS, *sweep.spec.space]]
    rows += [[*_cells(child, child is best, now), *_values(sweep, child)] for child in shown]
    lines = textwrap.wrap(_summary(sweep, best), max(20, width)) + _columns(rows, width)
    if len(shown) < len(ranked):
        lines.append(f"… and {len(ranked) - len(shown)} more")
    return [_cut(line, width) for line in lines]


def follow(look: Callable[[], SweepRecord], parent: Callable[[], RunRecord], out: TextIO) -> RunRecord:
    """Draws the table again and again until the sweep is over."""
    drawn, told = 0, 0
    while True:
        try:
            record, sweep = parent(), look()
        except ServiceException:  # it is being started again: what is drawn stays
            time.sleep(_EVERY_S)
            continue
        size = os.get_terminal_size(out.fileno())
        lines = render(sweep, size.columns or _WIDTH, (size.lines or _HEIGHT) - 5)
        over = [_UP.format(drawn) + _CLEAR] if drawn else []
        # in one piece, so that nothing flickers
        put(out, "".join([*over, *(f"{text}\n" for text in (*record.warnings[told:], *lines))]))
        told = len(record.warnings)
        drawn = len(lines)
        if record.state in TERMINAL:
            return record
        time.sleep(_EVERY_S)


def _summary(sweep: SweepRecord, best: SweepChild | None) -> str:
    over = sum(child.state in TERMINAL for child in sweep.children)
    running = sum(child.state is RunState.RUNNING for child in sweep.children)
    found = f", best {sweep.spec.metric} {best.best:.6g} (#{best.index})" if best is not None else ""
    stopped = sum(child.stopped is not None for child in sweep.children)
    early = f" ({stopped} stopped early)" if stopped else ""
    return f"{sweep.state.value}: {over} of {sweep.total} runs over{early}, {running} running{found}"


def _ordered(sweep: SweepRecord) -> list[SweepChild]:
    sign = -1 if sweep.spec.goal is Goal.MAXIMIZE else 1

    def place(child: SweepChild) -> tuple[int, float, int]:
        if child.state not in TERMINAL:
            return (0, 0.0, child.index)
        return (2, 0.0, child.index) if child.best is None else (1, sign * child.best, child.index)

    return sorted(sweep.children, key=place)


def best_of(sweep: SweepRecord) -> SweepChild | None:
    """The child with the best value ever; None when nobody has logged one."""
    with_value = [child for child in sweep.children if child.best is not None]
    pick = max if sweep.spec.goal is Goal.MAXIMIZE else min
    return pick(with_value, key=lambda child: child.best or 0.0) if with_value else None


def _cells(child: SweepChild, leads: bool, now_ns: int) -> list[str]:
    status = "Stopped" if child.stopped and child.state is RunState.CANCELED else child.state.value
    took = ""
    if child.started_ns is not None:
        took = f"{((child.ended_ns or now_ns) - child.started_ns) / 1e9:.1f} s"
    best = "" if child.best is None else f"{child.best:.6g}" + (" *" if leads else "")
    last = "" if child.last is None else f"{child.last:.6g}"
    return [f"#{child.index}", status, best, last, str(child.reports), took]


def _values(sweep: SweepRecord, child: SweepChild) -> list[str]:
    values = (child.parameters.get(name, "") for name in sweep.spec.space)
    return [f"{value:.6g}" if isinstance(value, float) else as_argument(value) for value in values]


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    widths = {at: max(len(row[at]) for row in rows) + 2 for at in range(len(rows[0]))}
    for name in _FIRST_TO_GO:
        if sum(widths.values()) - 2 > width:
            del widths[_HEADINGS.index(name)]
    return ["".join(row[at].ljust(size) for at, size in widths.items()).rstrip() for row in rows]


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(1, width - 1)] + "…"
