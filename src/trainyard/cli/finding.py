"""The run a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainyard.cli.place import open_place, open_yard
from trainyard.contract.errors import InvalidRequest, UnknownRun
from trainyard.contract.metrics import MetricSummary
from trainyard.contract.runs import RunQuery, RunRecord
from trainyard.contract.states import TERMINAL

if TYPE_CHECKING:
    from trainyard.sdk.service import Runs


def find_run(run_id: str, workspace: str | None) -> tuple[Runs, RunRecord]:
    """The run and the runs of its workspace: an id is enough to find it in any of them."""
    if run_id == "latest" or workspace is not None:
        runs = open_place(workspace).runs
        return runs, _newest(runs) if run_id == "latest" else runs.get(run_id)
    yard = open_yard()
    for candidate in yard.workspaces.list():
        try:
            runs = yard.runs(candidate.id)
            return runs, runs.get(run_id)
        except UnknownRun:
            continue
    raise InvalidRequest(f"No run {run_id!r} in any workspace. See `trainyard runs list`.")


def summaries_of(runs: Runs, run: RunRecord) -> list[MetricSummary]:
    """Of each metric how many values, its last, its least and its most: not the values, which may be millions."""
    from trainyard.sdk.runs.compare import found_run

    if run.spool is not None and run.state not in TERMINAL:
        runs.drain(run.run_id)
    return sorted(found_run(runs, run.run_id).metrics, key=lambda each: each.name)


def _newest(runs: Runs) -> RunRecord:
    newest = runs.find(RunQuery(limit=1))
    if not newest:
        raise InvalidRequest("There is no run in this workspace yet. `trainyard run script.py` makes one.")
    return runs.get(newest[0].run_id)
