"""`trainyard runs top`: a table of runs that stays up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from trainyard.cli.output import (
    WorkspaceOption,
    as_text,
    console,
    duration_s,
    fitting,
    no_room,
    printable,
    room_of,
    short_ids,
    span,
)
from trainyard.cli.place import open_place
from trainyard.cli.runs_search import ExperimentsOption, MetricsOption, OrderOption, Query, columns_of, table_of
from trainyard.contract.search import FoundRun, RunSearch

if TYPE_CHECKING:
    from rich.console import RenderableType

    from trainyard.sdk.service import Runs

_GAP = (0, 2, 0, 0)
_CUT = {"name": 12}  # columns that may be cut, to this at the least


def top(
    query: Query = "",
    /,
    *,
    order: OrderOption = (),
    metric: MetricsOption = (),
    experiment: ExperimentsOption = (),
    limit: Annotated[int | None, Parameter(name=["--limit", "-n"], validator=Number(gte=1), help="Rows.")] = None,
    every: Annotated[float, Parameter(validator=Number(gte=0.1), help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, Parameter(negative="", help="Show it once and end.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Watch runs: a live table with their states, parameters and metrics. Ctrl-C ends it.

    Try:

        trainyard runs top 'status = Running' -m loss
        trainyard runs top -o 'metrics.accuracy.max desc' -m accuracy -n 10
    """
    from rich.live import Live

    place = open_place(workspace)
    rows = limit or max(5, console().height - 4)
    asked = RunSearch(query, experiment, order, rows, metrics=metric)
    if once or not console().is_terminal:
        console().print(_table(place.runs, asked))
        return
    with Live(_table(place.runs, asked), console=console(), auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(every)
            live.update(_table(place.runs, asked), refresh=True)


def _table(runs: Runs, asked: RunSearch) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    found = runs.search(asked).runs
    if not found:
        return Text("No run fits.", style="dim")
    headings, rows, left_out = _lines(found)
    caption = no_room(left_out) if left_out else None
    table = Table(box=None, header_style="bold", pad_edge=False, padding=_GAP, caption=caption, caption_justify="left")
    for heading in headings:
        table.add_column(printable(heading), no_wrap=heading not in _CUT)
    for row in rows:
        words = map(as_text, row)
        table.add_row(*(Text(word.plain, word.style, no_wrap=True, overflow="ellipsis") for word in words))
    return table


def _lines(found: Sequence[FoundRun]) -> tuple[list[str], list[list[Any]], list[str]]:
    """A run is one line. Where that is too narrow, ids are shortened and the last columns left out, parameters before
    metrics."""
    params, metrics = columns_of(found)
    headings, rows = table_of(found, params, metrics)
    for row, each in zip(rows, found, strict=True):
        row[-1] = "" if (seconds := duration_s(each.run)) is None else span(seconds)
    headings[-1] = "runs for"
    if room_of(headings, rows, _CUT) > console().width:
        for row, run_id in zip(rows, short_ids([each.run.run_id for each in found]), strict=True):
            row[0] = run_id
    headings, rows, left_out = fitting(headings, rows, [*params[::-1], *metrics[::-1]], _CUT)
    return headings, rows, left_out[::-1]
