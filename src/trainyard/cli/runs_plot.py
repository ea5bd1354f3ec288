"""`trainyard runs plot`: a metric of one or more runs as a chart in the terminal."""

from __future__ import annotations

import math
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from trainyard.cli.braille import Frame, draw
from trainyard.cli.finding import find_run, summaries_of
from trainyard.cli.output import JsonFlag, WorkspaceOption, console, printable, say, show_json
from trainyard.contract.codec import to_json
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.metrics import AXES, MetricChart, MetricSummary

_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
_MARGIN = 12  # columns left of the chart


def plot(
    run_ids: Annotated[tuple[str, ...], Parameter(help="Ids of runs, or `latest`.")],
    /,
    *,
    metric: Annotated[
        str | None,
        Parameter(name=["--metric", "-m"], help="Which metric; not needed when one alone holds numbers."),
    ] = None,
    x: Annotated[
        str, Parameter(help="What runs along the bottom: step, time (seconds since the first) or index.")
    ] = "step",
    log: Annotated[bool, Parameter(negative="", help="A logarithmic y axis.")] = False,
    height: Annotated[int, Parameter(validator=Number(gte=3), help="Rows of the chart.")] = 15,
    width: Annotated[
        int | None, Parameter(validator=Number(gte=10), help="Columns; the terminal's without it.")
    ] = None,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> None:
    """Draw a metric in the terminal. The service thins out what does not fit there.

    Try:

        trainyard runs plot latest -m loss
        trainyard runs plot RUN OTHER -m val/accuracy --log
    """
    if x not in AXES:
        raise InvalidRequest(f"--x is {x!r}; it is one of {', '.join(AXES)}.")
    if not run_ids:
        raise InvalidRequest("Which run? `trainyard runs plot latest -m loss`.")
    columns = max(10, (width or console().width) - _MARGIN)
    found: dict[str, MetricChart] = {}
    called: dict[str, str] = {}
    for each in run_ids:
        runs, run = find_run(each, workspace)
        name = metric or _only_metric(run.run_id, summaries_of(runs, run))
        called[run.run_id] = printable(f"{run.display_name}, {run.run_id}" if run.display_name else run.run_id)
        found[run.run_id] = runs.chart(run.run_id, name, max(1000, columns * 4), x)
    if json:
        show_json([{"run_id": run_id, **to_json(chart)} for run_id, chart in found.items()])
    else:
        _show({called[run_id]: chart for run_id, chart in found.items()}, columns, height, log)


def _only_metric(run_id: str, metrics: list[MetricSummary]) -> str:
    names = [each.name for each in metrics if each.min is not None]  # of which there are numbers
    if len(names) == 1:
        return names[0]
    have = ", ".join(names[:20]) or "none yet"
    raise InvalidRequest(f"Which metric of {run_id}? It has {have}. Say it with --metric NAME.")


def _show(charts: dict[str, MetricChart], width: int, height: int, log: bool) -> None:
    from rich.text import Text

    lines = [_line(chart, log) for chart in charts.values()]
    if not any(lines):
        say("There is no number to draw: nothing was logged, or NaN and infinities alone.")
        return
    kept = [line or [] for line in lines]
    frame = Frame.around([line for line in kept if line])
    rows = draw(kept, frame, width, height)
    for at, row in enumerate(rows):
        value = frame.top - (frame.top - frame.bottom) * at / max(1, len(rows) - 1)
        label = f"{10**value if log else value:.4g}" if at % 4 == 0 or at == len(rows) - 1 else ""
        text = Text(f"{label:>{_MARGIN - 2}} ┤" if label else " " * (_MARGIN - 1) + "│", style="dim")
        for character, owner in row:
            text.append(character, style=_COLOURS[owner % len(_COLOURS)] if owner >= 0 else "")
        console().print(text, no_wrap=True, overflow="crop")
    first = next(iter(charts.values()))
    left, right = f"{frame.left:.6g}", f"{frame.right:.6g} {'s' if first.axis == 'time' else first.axis}"
    console().print(Text(" " * _MARGIN + left + right.rjust(width - len(left)), style="dim"), overflow="crop")
    for number, (run, chart) in enumerate(charts.items()):
        lost = f", {chart.lost} not drawn (NaN or infinite)" if chart.lost else ""
        said = f"{' ' * _MARGIN}━ {printable(chart.name)}  {run}  {chart.count} values{lost}"
        console().print(Text(said, style=_COLOURS[number % len(_COLOURS)]), overflow="fold")


def _line(chart: MetricChart, log: bool) -> list[tuple[float, float]]:
    start, unit = (chart.x[0], 1e9) if chart.axis == "time" and chart.x else (0, 1)
    points = [((x - start) / unit, y) for x, y in zip(chart.x, chart.y, strict=True)]
    return [(x, math.log10(y)) for x, y in points if y > 0] if log else points
