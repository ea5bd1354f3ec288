"""`trainyard runs compare`: runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from trainyard.cli.finding import find_run
from trainyard.cli.metric_words import last_of, number
from trainyard.cli.output import JsonFlag, WorkspaceOption, console, say, short_ids, show_json, show_table
from trainyard.cli.place import open_yard
from trainyard.contract.codec import to_json
from trainyard.contract.errors import InvalidRequest

if TYPE_CHECKING:
    from trainyard.sdk.runs.compare import Comparison, Line

_NAMES = 14  # columns for what is compared


def compare(
    run_ids: Annotated[tuple[str, ...], Parameter(help="Ids of two or more runs, or `latest`.")],
    /,
    *,
    everything: Annotated[
        bool, Parameter(name=["--all", "-a"], negative="", help="Also what is the same in all of them.")
    ] = False,
    code: Annotated[bool, Parameter(help="How the code of the last differs from the first's.")] = True,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> None:
    """Show what differs between runs: parameters, metrics, tags, environment and code.

    Try:

        trainyard runs compare RUN OTHER
        trainyard runs compare RUN OTHER latest --all --no-code
    """
    from trainyard.sdk.runs.compare import code_changes
    from trainyard.sdk.runs.compare import compare as compared

    if len(run_ids) < 2:
        raise InvalidRequest("Two runs at least: `trainyard runs compare RUN OTHER`.")
    found = [find_run(run_id, workspace) for run_id in run_ids]
    records = [record for _, record in found]
    if len({record.workspace_id for record in records}) > 1:
        raise InvalidRequest("These runs are of different workspaces. Compare runs of one.")
    yard = open_yard()
    home = next(each for each in yard.workspaces.list() if each.id == records[0].workspace_id)
    store = yard.open(home)._connection.blobs()
    result = compared(found[0][0], store, [record.run_id for record in records])
    changes = list(code_changes(store, records[0], records[-1])) if code else []
    if json:
        show_json(_as_json(result, changes))
        return
    _show(result, everything)
    _show_code(changes)


def _show(result: Comparison, everything: bool) -> None:
    headings = ["", *_headings([run.run_id for run in result.runs])]
    shown = False
    for title, lines in (
        ("Runs", result.facts),
        ("Parameters", result.params),
        ("Tags", result.tags),
        ("Packages", result.packages),
    ):
        shown |= _section(title, headings, [line for line in lines if everything or line.differs])
    rows = [[name, *(_summary(each) for each in values)] for name, values in result.metrics]
    if rows:
        console().print("\n[bold]Metrics[/]  last (min … max)")
        show_table(headings, rows, empty="")
    if not shown and not rows:
        say("They are the same in everything that is compared.")


def _headings(run_ids: Sequence[str]) -> Sequence[str]:
    """Their ids, shortened where a terminal has no room for them."""
    if not console().is_terminal or _NAMES + sum(len(each) + 2 for each in run_ids) <= console().width:
        return run_ids
    return short_ids(run_ids)


def _section(title: str, headings: Sequence[str], lines: Sequence[Line]) -> bool:
    if lines:
        console().print(f"\n[bold]{title}[/]")
        show_table(headings, [[line.name, *(_cell(value) for value in line.values)] for line in lines], empty="")
    return bool(lines)


def _show_code(changes: Sequence[str]) -> None:
    from rich.text import Text

    if not changes:
        return
    console().print("\n[bold]Code[/]")
    for line in changes:
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
        console().print(Text(line, style=style), soft_wrap=True)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _summary(metric: Any) -> str:
    if metric is None:
        return ""
    if metric.count == 1 or metric.min is None or metric.last_text is not None:
        return last_of(metric)
    return f"{last_of(metric)} ({number(metric.min)} … {number(metric.max)})"


def _as_json(result: Comparison, changes: Sequence[str]) -> dict[str, Any]:
    def lines(found: Sequence[Line]) -> dict[str, list[Any]]:
        return {line.name: list(line.values) for line in found}

    return {
        "runs": [run.run_id for run in result.runs],
        "facts": lines(result.facts),
        "params": lines(result.params),
        "tags": lines(result.tags),
        "metrics": {name: [to_json(each) for each in values] for name, values in result.metrics},
        "packages": lines(result.packages),
        "code": list(changes),
    }
