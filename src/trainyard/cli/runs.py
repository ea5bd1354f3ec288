"""`trainyard runs list|show|logs|cancel`."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from trainyard.cli import system_use
from trainyard.cli.finding import find_run, summaries_of
from trainyard.cli.metric_words import last_of, number
from trainyard.cli.output import (
    JsonFlag,
    WorkspaceOption,
    age,
    as_text,
    coloured,
    console,
    duration_s,
    human_size,
    iso,
    moment,
    run_json,
    say,
    show_json,
    show_table,
    span,
)
from trainyard.cli.place import open_place
from trainyard.cli.run_lineage import as_json, lineage_of, show_lineage
from trainyard.cli.runs_compare import compare
from trainyard.cli.runs_delete import delete
from trainyard.cli.runs_plot import plot
from trainyard.cli.runs_search import search
from trainyard.cli.runs_top import top
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.logs import DRIVER, driver, of_rank, streamed
from trainyard.contract.metrics import MetricSummary
from trainyard.contract.runs import HYPERDRIVE, RunQuery, RunRecord
from trainyard.contract.states import TERMINAL, RunState
from trainyard.contract.sweeps import SWEEP_LOG

app = App(name="runs", help="List, search, look into, follow and cancel runs. `latest` stands for the newest run's id.")

_LONGEST_CELL = 60  # characters of a metric's name, and of its last value

RunId = Annotated[str, Parameter(help="The run's id, or `latest`.")]

for _command in (search, compare, plot, top, delete):
    app.command(_command)


@app.command(name="list")
def list_(
    *,
    experiment: Annotated[str | None, Parameter(name=["--experiment", "-e"], help="Only this experiment's.")] = None,
    status: Annotated[
        tuple[RunState, ...],
        Parameter(negative="", show_default=False, help="Only runs in this state; may be repeated."),
    ] = (),
    target: Annotated[str | None, Parameter(help="Only runs on this compute target.")] = None,
    limit: Annotated[int, Parameter(name=["--limit", "-n"], validator=Number(gte=1), help="At most so many.")] = 20,
    children: Annotated[bool, Parameter(negative="", help="Child runs too.")] = False,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> None:
    """List runs, the newest first.

    Try:

        trainyard runs list --experiment first --limit 5
        trainyard runs list --status running --json
    """
    place = open_place(workspace)
    query = RunQuery(experiment=experiment, states=tuple(status), target=target, limit=limit, include_children=children)
    found = place.runs.find(query)
    if json:
        show_json([run_json(run) for run in found])
        return
    show_table(
        ["run", "name", "experiment", "status", "target", "nodes", "created", "ran for"],
        (
            [
                run.run_id,
                run.display_name or "",
                run.experiment,
                coloured(run.state),
                run.target or "here",
                run.nodes,
                age(run.created_ns),
                "" if (seconds := duration_s(run)) is None else span(seconds),
            ]
            for run in found
        ),
        empty=f"No such runs in workspace {place.workspace.name}. `trainyard run script.py` makes one.",
        spare=["nodes", "experiment", "target", "ran for"],
    )


@app.command
def show(run_id: RunId, /, *, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """Show one run: what it is, how it went, its metrics, data, models, files and history.

    Try:

        trainyard runs show latest
        trainyard runs show first_1700000000_0a1b2c3d --json
    """
    runs, run = find_run(run_id, workspace)
    files, events = runs.files(run.run_id), runs.events(run.run_id)
    system, lineage = runs.system_metrics(run.run_id), lineage_of(run)
    if json:
        show_json(
            {
                **run_json(run),
                "script": run.spec.script if run.spec else None,
                "arguments": [*run.spec.arguments] if run.spec else [],
                "snapshot_id": run.snapshot_id,
                "properties": run.properties,
                **as_json(lineage),
                "metrics": {series.name: [*series.values] for series in runs.metrics(run.run_id)},
                "system": {series.name: [*series.values] for series in system},
                "files": [{"name": file.name, "size": file.size} for file in files],
                "history": [
                    {
                        "time": iso(event.time_ns),
                        "attempt": event.attempt,
                        "status": event.state,
                        "reason": event.reason,
                    }
                    for event in events
                ],
            }
        )
        return
    _show_facts(run)
    _show_error(run)
    if metrics := summaries_of(runs, run):
        console().print("\n[bold]Metrics[/]")
        show_table(["name", "values", "last", "min", "max"], map(_metric_row, metrics), empty="")
    if system:
        console().print("\n[bold]System[/]")
        show_table(system_use.COLUMNS, system_use.rows(system), empty="")
    show_lineage(lineage)
    if files:
        console().print("\n[bold]Files[/]")
        show_table(["name", "size"], ([file.name, human_size(file.size)] for file in files), empty="")
    console().print("\n[bold]History[/]")
    rows = (
        [f"+{(event.time_ns - run.created_ns) / 1e9:.3f} s", event.attempt, coloured(event.state), event.reason]
        for event in events
    )
    show_table(["when", "attempt", "status", "reason"], rows, empty="")


@app.command
def logs(
    run_id: RunId,
    /,
    *,
    follow: Annotated[bool, Parameter(name=["--follow", "-f"], negative="", help="Go on until the run ends.")] = False,
    name: Annotated[str | None, Parameter(help="A log's name; without it, the one the script wrote to.")] = None,
    rank: Annotated[
        tuple[int, ...],
        Parameter(negative="", show_default=False, help="Only this process of several; may be repeated."),
    ] = (),
    workspace: WorkspaceOption = None,
) -> None:
    """Print what a run wrote, byte by byte as it wrote it. Of several processes:
    line by line, each with its rank in front.

    Try:

        trainyard runs logs latest -f
        trainyard runs logs latest --rank 1
        trainyard runs logs latest --name azureml-logs/65_job_prep-node-0.txt
    """
    from trainyard.cli.follow import follow_log, follow_ranks, print_ranks
    from trainyard.sdk.runs.rank_logs import chosen_ranks

    runs, run = find_run(run_id, workspace)
    if name is not None and rank:
        raise InvalidRequest("--name and --rank both say which log. Give one of them.")
    ranks = chosen_ranks(run, rank or None) if name is None else ()
    names = {file.name for file in runs.files(run.run_id)}
    chosen = name or _script_log(run, names)
    if follow and ranks and run.state not in TERMINAL:
        follow_ranks(runs, run, ranks)
    elif ranks and any(of_rank(rank) in names for rank in ranks):
        print_ranks(runs, run, [rank for rank in ranks if of_rank(rank) in names])
    elif follow:
        follow_log(runs, run, chosen)
    elif name is None and chosen not in names:
        say(f"{run.run_id} is {run.state} and has written nothing{_not_yet(run)}")
    else:
        sys.stdout.buffer.write(runs.read_log(run.run_id, chosen))
        sys.stdout.buffer.flush()


@app.command
def cancel(
    run_ids: Annotated[tuple[str, ...], Parameter(help="Ids of runs, or `latest`.")],
    /,
    *,
    wait: Annotated[bool, Parameter(negative="", help="Return only when they have ended.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Ask for the end of runs. All their processes are ended; what they wrote stays.

    Try:

        trainyard runs cancel latest --wait
    """
    found = [find_run(run_id, workspace) for run_id in run_ids]
    asked = [(runs, runs.cancel(run.run_id)) for runs, run in found]
    for runs, run in asked:
        while wait and run.state not in TERMINAL:
            run = runs.wait(run.run_id, run.events)
        console().print(run.run_id, coloured(run.state))


def _script_log(run: RunRecord, names: set[str]) -> str:
    """The log the script writes to, also before it is there; of a run that ended before its script began, the last."""
    if run.type == HYPERDRIVE:
        return SWEEP_LOG
    written = streamed(name for name in names if name.startswith(DRIVER.removesuffix(".txt")))
    last = streamed(names) if run.state in TERMINAL else None
    return written or last or driver(0, run.nodes)


def _not_yet(run: RunRecord) -> str:
    return "." if run.state in TERMINAL else " yet. `--follow` waits for it."


def _metric_row(metric: MetricSummary) -> list[Any]:
    several = metric.count > 1
    name = metric.name if len(metric.name) <= _LONGEST_CELL else f"{metric.name[:_LONGEST_CELL]}…"
    return [
        name,
        metric.count,
        last_of(metric, _LONGEST_CELL),
        number(metric.min) if several else "",
        number(metric.max) if several else "",
    ]


def _show_facts(run: RunRecord) -> None:
    from rich.table import Table
    from rich.text import Text

    facts: dict[str, Any] = {"run": run.run_id, "status": Text.assemble(coloured(run.state), f"  {run.reason}")}
    facts["experiment"] = f"{run.experiment}, number {run.number}"
    if run.display_name:
        facts["name"] = run.display_name
    if run.description:
        facts["about"] = run.description
    if run.parent_run_id:
        facts["parent"] = run.parent_run_id
    facts["target"] = f"{run.target or 'here'}, {run.nodes} node{'s' if run.nodes != 1 else ''}"
    if run.attempt > 1:
        facts["attempt"] = run.attempt
    if run.spec and run.spec.script:
        facts["script"] = shlex.join([run.spec.script, *run.spec.arguments])
    if run.spec:
        facts["environment"] = run.spec.environment.name
    facts["created"] = f"{age(run.created_ns)} by {run.created_by}, {moment(run.created_ns)}"
    if (seconds := duration_s(run)) is not None:
        facts["ran for"] = span(seconds)
    if commit := run.properties.get("azureml.git.commit"):
        dirty = run.properties.get("azureml.git.dirty", "").lower() == "true"
        facts["commit"] = commit + (" with changes" if dirty else "")
    if run.tags:
        facts["tags"] = ", ".join(key if value is None else f"{key}={value}" for key, value in run.tags.items())
    for place, warning in enumerate(run.warnings, 1):
        facts[f"warning {place}"] = Text(warning, style="yellow")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for key, value in facts.items():
        grid.add_row(key, as_text(value))
    console().print(grid)


def _show_error(run: RunRecord) -> None:
    from rich.text import Text

    if run.error is None:
        return
    if run.error.message != run.reason:
        console().print(Text(f"\n{run.error.message}", style="red"), soft_wrap=True)
    if run.error.last_lines:
        console().print("\n[bold]The last lines it wrote[/]")
    for line in run.error.last_lines:
        console().print(Text(f"  {line}", style="dim"), soft_wrap=True)
