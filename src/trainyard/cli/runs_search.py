"""`trainyard runs search`: the runs that a query finds, as a table with parameters and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from trainyard.cli.metric_words import last_of
from trainyard.cli.output import (
    JsonFlag,
    WorkspaceOption,
    age,
    coloured,
    no_room,
    run_json,
    say,
    show_json,
    show_table,
)
from trainyard.cli.place import open_place
from trainyard.contract.search import FoundRun, RunSearch

Query = Annotated[
    str, Parameter(help='Such as `metrics.loss < 0.1 and tags.team = "vision"`; in quotes of the shell. All without.')
]
OrderOption = Annotated[
    tuple[str, ...],
    Parameter(
        name=["--order", "-o"],
        negative="",
        show_default=False,
        help="Such as `metrics.loss.min asc`; may be repeated. Without it, the newest first.",
    ),
]
MetricsOption = Annotated[
    tuple[str, ...],
    Parameter(name=["--metric", "-m"], negative="", show_default=False, help="A metric to show; may be repeated."),
]
ExperimentsOption = Annotated[
    tuple[str, ...],
    Parameter(name=["--experiment", "-e"], negative="", show_default=False, help="Only this one's; may be repeated."),
]


def search(
    query: Query = "",
    /,
    *,
    order: OrderOption = (),
    metric: MetricsOption = (),
    experiment: ExperimentsOption = (),
    limit: Annotated[int, Parameter(name=["--limit", "-n"], validator=Number(gte=1), help="At most so many.")] = 20,
    page: Annotated[str | None, Parameter(help="What the page before said comes next.")] = None,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> None:
    """Find runs by status, tags, parameters and metrics; child runs too.

    Try:

        trainyard runs search 'metrics.loss < 0.1 and tags.team = "vision"'
        trainyard runs search -o 'metrics.accuracy.max desc' -n 5
        trainyard runs search 'params.lr >= 0.01 and not status = Failed' --json
    """
    place = open_place(workspace)
    found = place.runs.search(RunSearch(query, experiment, order, limit, page, metric))
    if json:
        show_json({"runs": [found_json(run) for run in found.runs], "next": found.next})
        return
    show_found(found.runs, empty="No run fits. `trainyard runs search --help` shows how to ask.")
    have = {each.name for run in found.runs for each in run.metrics}
    if found.runs and (missing := [name for name in metric if name not in have]):
        say(f"None of these runs logged {', '.join(missing)}.")
    if found.next is not None:
        say(f"There are more: --page {found.next}")


def show_found(found: Sequence[FoundRun], empty: str) -> None:
    params, metrics = columns_of(found)
    spare = ["created", *reversed(params)]
    left_out = show_table(*table_of(found, params, metrics), empty=empty, spare=spare)
    if params_left := [name for name in left_out if name in params]:
        say(no_room(params_left[::-1]))


def columns_of(found: Sequence[FoundRun]) -> tuple[list[str], list[str]]:
    """Each parameter that differs between them, and each metric that came along."""
    params = [name for name in _names(run.params for run in found) if _differs(found, name)]
    return params, _names({metric.name: 1 for metric in run.metrics} for run in found)


def table_of(
    found: Sequence[FoundRun], params: Sequence[str], metrics: Sequence[str]
) -> tuple[list[str], list[list[Any]]]:
    """A column for each of these."""
    rows = []
    for each in found:
        said = {metric.name: metric for metric in each.metrics}
        cells: list[Any] = [each.run.run_id, each.run.display_name or "", coloured(each.run.state)]
        cells += [each.params.get(name, "") for name in params]
        cells += [last_of(said[name]) if name in said else "" for name in metrics]
        rows.append([*cells, age(each.run.created_ns)])
    return ["run", "name", "status", *params, *metrics, "created"], rows


def found_json(found: FoundRun) -> dict[str, Any]:
    """The keys scripts may rely on: those of `runs list`, `params` and `metrics`."""
    metrics = {
        metric.name: {"last": metric.last, "min": metric.min, "max": metric.max, "count": metric.count}
        for metric in found.metrics
    }
    return {**run_json(found.run), "params": found.params, "metrics": metrics}


def _names(dicts: Any) -> list[str]:
    return [*dict.fromkeys(name for each in dicts for name in each)]


def _differs(found: Sequence[FoundRun], name: str) -> bool:
    return len(found) == 1 or len({run.params.get(name) for run in found}) > 1
