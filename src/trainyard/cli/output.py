"""What people and programs see: tables, colours, ages, JSON. Data goes to standard output, words about it to standard
error, so that a pipe gets data alone."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from trainyard.contract.runs import RunRecord
from trainyard.contract.states import RunState

if TYPE_CHECKING:
    from rich.console import Console

# Options that several commands share.
WorkspaceOption = Annotated[
    str | None,
    Parameter(
        name=["--workspace", "-w"],
        help="Name of the workspace. Without it: the one config.json names, else the only one there is.",
    ),
]
JsonFlag = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON instead of tables.")]

STATE_COLOURS = {
    RunState.NOT_STARTED: "bright_black",
    RunState.PREPARING: "cyan",
    RunState.QUEUED: "cyan",
    RunState.PROVISIONING: "cyan",
    RunState.STARTING: "cyan",
    RunState.RUNNING: "bold blue",
    RunState.CANCEL_REQUESTED: "yellow",
    RunState.FINALIZING: "blue",
    RunState.COMPLETED: "green",
    RunState.FAILED: "bold red",
    RunState.CANCELED: "yellow",
}


@functools.cache
def console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


@functools.cache
def errors() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(sentence: str, style: str = "dim") -> None:
    """A word beside the data."""
    errors().print(sentence, style=style, markup=False, soft_wrap=True)


def show_json(value: Any) -> None:
    whole = (sys.stdout.encoding or "utf-8").lower().startswith("utf")  # else escaped, and so the same to a program
    print(json.dumps(value, indent=2, ensure_ascii=not whole))


_WHOLE = ("run", "status", "nodes", "created", "ran for", "when", "since", "size")  # columns that are never broken
_LEAST = 12  # and how narrow the others get
_GAP = 2


def show_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], empty: str) -> None:
    """`empty` is said instead when there are no rows, and says what to do about it."""
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    if not rows:
        say(empty)
        return
    headings, rows = without_empty(headings, rows)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in _WHOLE)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    _wide(_room(headings, rows)).print(table)


def without_empty(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """A narrow terminal needs the room."""
    shown = [at for at in range(len(headings)) if any(str(row[at]) for row in rows)]
    return [headings[at] for at in shown], [[row[at] for at in shown] for row in rows]


def _wide(room: int) -> Console:
    """The console, or one with room for more than a line of the terminal: the terminal breaks it and nothing is cut."""
    from rich.console import Console

    return console() if room <= console().width else Console(highlight=False, width=room)


def _room(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """What a table needs at the least, if no id may be cut. In a pipe no cell is broken."""
    from rich.cells import cell_len

    room = 0
    for heading, *cells in zip(headings, *rows, strict=True):
        widest = max(cell_len(line) for cell in [heading, *cells] for line in str(cell).splitlines() or [""])
        broken = console().is_terminal and heading not in _WHOLE
        room += (min(widest, max(cell_len(heading), _LEAST)) if broken else widest) + _GAP
    return room


def coloured(state: RunState) -> Any:
    from rich.text import Text

    return Text(state.value, style=STATE_COLOURS[state])


def age(since_ns: int | None, now_ns: int | None = None) -> str:
    """How long ago, in one unit."""
    if since_ns is None:
        return ""
    seconds = max(0, (time.time_ns() if now_ns is None else now_ns) - since_ns) // 10**9
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{seconds // size} {unit} ago"


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def span(seconds: float) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min, 5 d 3 h."""
    seconds = max(0.0, seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    for size, unit, below, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def duration_s(run: RunRecord, now_ns: int | None = None) -> float | None:
    """How long it ran, or has been running."""
    if run.started_ns is None:
        return None
    return ((run.ended_ns or now_ns or time.time_ns()) - run.started_ns) / 1e9


def iso(time_ns: int | None) -> str | None:
    if time_ns is None:
        return None
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def human_size(size: int) -> str:
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def run_json(run: RunRecord) -> dict[str, Any]:
    """The keys scripts may rely on."""
    seconds = duration_s(run)
    return {
        "run_id": run.run_id,
        "experiment": run.experiment,
        "number": run.number,
        "display_name": run.display_name,
        "status": run.state.value,
        "reason": run.reason,
        "attempt": run.attempt,
        "target": run.target,
        "nodes": run.nodes,
        "parent_run_id": run.parent_run_id,
        "created_by": run.created_by,
        "created": iso(run.created_ns),
        "started": iso(run.started_ns),
        "ended": iso(run.ended_ns),
        "duration_s": None if seconds is None else round(seconds, 3),
        "error": None if run.error is None else {"code": run.error.code, "message": run.error.message},
        "tags": run.tags,
    }
