"""A run's record as the SDK tells it: the dict of get_details()."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import DataUse
from trainyard.contract.runs import RunError, RunRecord
from trainyard.sdk.data.used_dataset import UsedDataset
from trainyard.sdk.times import iso

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

LOG_FOLDERS = ("azureml-logs/", "user_logs/", "system_logs/", "logs/")


def details(
    workspace: Workspace, record: RunRecord, log_files: dict[str, str], uses: Sequence[DataUse] = ()
) -> dict[str, Any]:
    """The SDK's keys, in its order; times, warnings and the error only where there are any."""
    said: dict[str, Any] = {
        "runId": record.run_id,
        "target": record.target or "sdk",
        "status": record.state.value,
        "startTimeUtc": iso(record.started_ns),
        "endTimeUtc": iso(record.ended_ns),
        "services": {},
        "warnings": [{"source": "Trainyard", "message": text} for text in record.warnings],
        "error": error_details(record.error) if record.error else None,
        "properties": dict(record.properties),
        "inputDatasets": [_input(workspace, use) for use in uses if not use.output],
        "outputDatasets": [_output(workspace, use) for use in uses if use.output],
        "runDefinition": record.spec.definition if record.spec else None,
        "logFiles": log_files,
        "submittedBy": record.created_by,
    }
    optional = ("startTimeUtc", "endTimeUtc", "warnings", "error", "runDefinition")
    return {key: value for key, value in said.items() if value or key not in optional}


def _input(workspace: Workspace, use: DataUse) -> dict[str, Any]:
    how = {"type": "Reference", "inputName": use.name, "mechanism": use.mode.value.capitalize()}
    return {"dataset": UsedDataset(workspace, use), "consumptionDetails": how, **_as_it_was(use)}


def _output(workspace: Workspace, use: DataUse) -> dict[str, Any]:
    return {
        "identifier": {"savedId": use.dataset_id},
        "outputType": "RunOutput",
        "outputDetails": {"outputName": use.name, "mechanism": use.mode.value.capitalize()},
        "dataset": UsedDataset(workspace, use),
        **_as_it_was(use),
    }


def _as_it_was(use: DataUse) -> dict[str, Any]:
    """The data at the time of the run: where from, and in one word what."""
    return {
        "sources": [{"datastore": source.datastore, "path": source.path} for source in use.sources],
        "digest": use.digest,
        "files": use.files,
        "bytes": use.bytes,
    }


def error_details(error: RunError) -> dict[str, Any]:
    inside: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "exitCode": error.exit_code,
        "node": error.node,
        "rank": error.rank,
        "lastLines": list(error.last_lines),
        "details": [],
    }
    return {"error": {key: value for key, value in inside.items() if value is not None}}


def failure_message(error: RunError | None) -> tuple[str, str]:
    """The sentence a failed run raises, with the last lines it wrote, and the JSON for programs."""
    if error is None:
        return "The run failed. run.get_details_with_logs() shows what it wrote.", "{}"
    lines = [error.message]
    if error.last_lines:
        lines += ["The last lines it wrote:", *(f"    {line}" for line in error.last_lines)]
    return "\n".join(lines), json.dumps(error_details(error), indent=4)


def log_files(names: Iterable[str], shown: Callable[[str], str]) -> dict[str, str]:
    """Name → what `shown` makes of it, for those files that are logs."""
    return {name: shown(name) for name in sorted(names) if name.startswith(LOG_FOLDERS)}
