"""`trainyard runs top`: a table of runs that stays up to date."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from trainyard.cli.output import WorkspaceOption, console, duration_s, span
from trainyard.cli.place import open_place
from trainyard.cli.runs_search import ExperimentsOption, MetricsOption, OrderOption, Query, table_of
from trainyard.contract.search import RunSearch

if TYPE_CHECKING:
    from rich.console import RenderableType

    from trainyard.sdk.service import Runs


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
    headings, rows = table_of(found)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in [*headings[:-1], "runs for"]:
        table.add_column(heading, overflow="fold", no_wrap=heading in ("run", "status"))
    for each, cells in zip(found, rows, strict=True):
        seconds = duration_s(each.run)
        row = [*cells[:-1], "" if seconds is None else span(seconds)]
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return table
