"""`trainyard runs delete`: runs with all they have, for good."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from trainyard.cli.finding import find_run
from trainyard.cli.output import JsonFlag, WorkspaceOption, console, human_size, say, show_json
from trainyard.cli.place import open_place
from trainyard.contract.codec import to_json
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.retention import Deleted, Deletion, What

AgeOption = Annotated[
    str | None, Parameter(help="Only runs that ended this long ago or longer: 30d, 12h, 2w.", show_default=False)
]
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def delete(
    run_ids: Annotated[tuple[str, ...], Parameter(help="Ids of runs, or `latest`.")] = (),
    /,
    *,
    query: Annotated[str | None, Parameter(name=["--query", "-q"], help="Those that a search finds.")] = None,
    experiment: Annotated[str | None, Parameter(name=["--experiment", "-e"], help="All of this experiment.")] = None,
    older_than: AgeOption = None,
    attempts: Annotated[
        bool, Parameter(negative="", help="Only what is left of attempts before a run's last; the run stays.")
    ] = False,
    dry_run: Annotated[bool, Parameter(name=["--dry-run", "-n"], negative="", help="Say what would go.")] = False,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative="", help="Do not ask.")] = False,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> int:
    """Delete runs with their metrics, logs and files, and all runs below them. There is no way back.

    Registered models keep their content. The space of what nothing else names is
    free after `trainyard retention sweep`.

    Try:

        trainyard runs delete RUN OTHER
        trainyard runs delete -q 'status = Failed' --older-than 30d --dry-run
        trainyard runs delete -e scratch --yes
    """
    place = open_place(workspace)
    named = tuple(find_run(run_id, place.workspace.name)[1].run_id for run_id in run_ids)
    what = What.ATTEMPTS if attempts else What.RUNS
    retention = place.yard.retention(place.workspace.id)
    if not named and experiment is None and query is None and older_than is not None:
        query = ""  # an age alone means all of that age
    asked = Deletion(named, experiment, query, seconds(older_than), what)
    found = retention.delete(asked)
    if dry_run or not found.run_ids:
        return _say(found, json)
    if not yes:
        _confirm(found)
    return _say(retention.delete(Deletion(found.run_ids, what=what, dry_run=False)), json)


def seconds(age: str | None) -> int:
    """30d, 12h, 90 min."""
    if age is None:
        return 0
    text = age.strip().lower()
    unit = next((unit for unit in ("min", "s", "h", "d", "w") if text.endswith(unit)), "")
    number = text[: len(text) - len(unit)].strip()
    try:
        return int(float(number) * _SECONDS[unit])
    except (ValueError, KeyError, OverflowError) as error:
        raise InvalidRequest(f"{age!r} is no age. Say it as 30d, 12h, 90min or 2w.") from error


def sentence(found: Deleted) -> str:
    number = len(found.run_ids)
    runs = f"{number} run{'s' if number != 1 else ''}"
    would = "would be deleted" if found.dry_run else "deleted"
    if found.what is What.ATTEMPTS:
        return f"{found.attempts} earlier attempts of {runs} {would}."
    parts = f"{found.metrics} metrics, {found.files} files ({human_size(found.file_bytes)}), "
    return f"{runs} {would}: {parts}{human_size(found.log_bytes)} of logs."


def _say(found: Deleted, json: bool) -> int:
    if json:
        show_json(to_json(found))
        return 0
    for run_id in found.run_ids[:20]:
        console().print(run_id, markup=False)
    if len(found.run_ids) > 20:
        say(f"and {len(found.run_ids) - 20} more")
    say(sentence(found), "yellow" if found.run_ids else "dim")
    return 0


def _confirm(found: Deleted) -> None:
    if not sys.stdin.isatty():
        raise InvalidRequest(f"{sentence(found)} Say --yes if that is meant.")
    say(sentence(found), "yellow")
    if input("There is no way back. Delete them? [y/N] ").strip().lower() not in ("y", "yes"):
        raise InvalidRequest("Nothing was deleted.")
