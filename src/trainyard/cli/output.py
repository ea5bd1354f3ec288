"""What people and programs see: tables, colours, ages, JSON. Data goes to standard output, words about it to standard
error, so that a pipe gets data alone."""

from __future__ import annotations

import functools
import json
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from trainyard.contract.runs import RunRecord
from trainyard.contract.states import RunState

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

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
    """NaN and infinities are texts: JSON has no numbers for them, and most programs read none."""
    whole = (sys.stdout.encoding or "utf-8").lower().startswith("utf")  # else escaped, and so the same to a program
    print(json.dumps(_strict(value), indent=2, ensure_ascii=not whole))


def _strict(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


def printable(text: str) -> str:
    """On one line, and without power over the terminal: names and tags are what somebody wrote."""
    return text.translate(_CONTROLS)


_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0))}


_WHOLE = (
    "run",
    "status",
    "nodes",
    "created",
    "ran for",
    "when",
    "since",
    "size",
    "values",
    "min",
    "max",
)  # columns that are never broken
_LEAST = 12  # and how narrow the others get
_GAP = 2


def show_table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], empty: str, spare: Sequence[str] = ()
) -> list[str]:
    """`empty` is said instead when there are no rows, and says what to do about it. Columns in `spare` are left out,
    the first of them first, as far as a terminal is too narrow; answers which were."""
    from rich.table import Table

    shown = [[as_text(cell) for cell in row] for row in rows]
    if not shown:
        say(empty)
        return []
    narrowest = {} if not console().is_terminal else {name: _least(name) for name in headings if name not in _WHOLE}
    headings, shown, left_out = fitting(headings, shown, spare if console().is_terminal else (), narrowest)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for heading in headings:
        table.add_column(printable(heading), overflow="fold", no_wrap=heading in _WHOLE)
    for row in shown:
        table.add_row(*row)
    _wide(room_of(headings, shown, narrowest)).print(table)
    return left_out


def as_text(cell: Any) -> Text:
    from rich.text import Text

    return cell if isinstance(cell, Text) else Text(printable(str(cell)))


def fitting(
    headings: Sequence[str], rows: Sequence[Sequence[Any]], spare: Sequence[str], narrowest: Mapping[str, int]
) -> tuple[list[str], list[list[Any]], list[str]]:
    """The table without columns that are empty throughout, and without as many of `spare` as the terminal has no room
    for; and which those are."""
    left_out: list[str] = []
    kept, cells = without_empty(headings, rows)
    for name in spare:
        if room_of(kept, cells, narrowest) <= console().width:
            break
        if name in kept:
            at = len(kept) - 1 - kept[::-1].index(name)  # the last: a parameter may be called as a fixed column is
            kept, cells = kept[:at] + kept[at + 1 :], [row[:at] + row[at + 1 :] for row in cells]
            left_out.append(name)
    return kept, cells, left_out


def without_empty(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """A narrow terminal needs the room."""
    shown = [at for at in range(len(headings)) if any(str(row[at]) for row in rows)]
    return [headings[at] for at in shown], [[row[at] for at in shown] for row in rows]


def short_ids(run_ids: Sequence[str]) -> list[str]:
    """The ends of ids, as long as it takes to tell them apart: it is there that they differ."""
    told = {*run_ids}
    kept = next(end for end in range(8, 256) if len({each[-end:] for each in told}) == len(told))
    return [each if len(each) <= kept + 1 else f"…{each[-kept:]}" for each in run_ids]


def no_room(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"No room for {', '.join(names[:_NAMED])}{more}."


_NAMED = 6


def _wide(room: int) -> Console:
    """The console, or one with room for more than a line of the terminal: the terminal breaks it and nothing is cut."""
    from rich.console import Console

    return console() if room <= console().width else Console(highlight=False, width=room)


def _least(heading: str) -> int:
    from rich.cells import cell_len

    return max(cell_len(heading), _LEAST)


def room_of(headings: Sequence[str], rows: Sequence[Sequence[Any]], narrowest: Mapping[str, int]) -> int:
    """What a table needs: its columns as wide as what is in them, those in `narrowest` no wider than that."""
    from rich.cells import cell_len

    room = -_GAP
    for heading, *cells in zip(headings, *rows, strict=True):
        widest = max(cell_len(str(cell)) for cell in (heading, *cells))
        room += min(widest, narrowest.get(heading, widest)) + _GAP
    return room


def coloured(state: RunState) -> Text:
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


def moment(time_ns: int) -> str:
    """A time as the clock on the wall shows it."""
    return datetime.fromtimestamp(time_ns / 1e9).astimezone().strftime("%Y-%m-%d %H:%M")


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
