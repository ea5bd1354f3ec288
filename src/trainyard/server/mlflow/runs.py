"""MLflow's runs are ours. A run that an agent runs ends when its agent says so, whatever its script tells MLflow."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy import Connection

from trainyard.contract.errors import InvalidRequest
from trainyard.contract.mlflow import RUNS
from trainyard.contract.runs import NewRun, RunChange, RunError
from trainyard.contract.search import FoundRun
from trainyard.contract.states import TERMINAL, RunState
from trainyard.server.identity.service import Kind
from trainyard.server.metrics import service as metrics
from trainyard.server.metrics import spool
from trainyard.server.metrics.chunks import of_numbers
from trainyard.server.mlflow import inputs
from trainyard.server.mlflow.experiments import by_id
from trainyard.server.mlflow.wire import Call, ms, ns, pairs, unpaired
from trainyard.server.runs import params
from trainyard.server.runs import service as runs
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow, lineage, run_row, run_row_by_key
from trainyard.server.runs.search import described
from trainyard.server.scope import Scope

PARENT, NAME, NOTE, USER = "mlflow.parentRunId", "mlflow.runName", "mlflow.note.content", "mlflow.user"
_STATUS = {
    RunState.RUNNING: "RUNNING",
    RunState.CANCEL_REQUESTED: "RUNNING",
    RunState.FINALIZING: "RUNNING",
    RunState.COMPLETED: "FINISHED",
    RunState.FAILED: "FAILED",
    RunState.CANCELED: "KILLED",
}
STATES = {
    "RUNNING": (RunState.RUNNING, RunState.CANCEL_REQUESTED, RunState.FINALIZING),
    "SCHEDULED": tuple(state for state in RunState if state not in _STATUS),
    "FINISHED": (RunState.COMPLETED,),
    "FAILED": (RunState.FAILED,),
    "KILLED": (RunState.CANCELED,),
}


def create(call: Call) -> dict[str, Any]:
    tags: dict[str, str | None] = {**pairs(call.items("tags"))}
    name, parent, note = tags.pop(NAME, None), tags.pop(PARENT, None), tags.pop(NOTE, None)
    with call.context.db.write() as tx:
        if parent is None and call.principal.kind is Kind.ATTEMPT and call.principal.run_key is not None:
            parent = run_row_by_key(tx, call.principal.run_key).run_id  # what a job starts is part of it
        experiment = by_id(tx, call, call.text("experiment_id", default="0"))
        new = NewRun(
            experiment.name,
            run_id=str(uuid.uuid4()),
            parent_run_id=parent,
            display_name=call.text("run_name", default="") or name,
            tags=tags,
        )
        record = runs.create_run(tx, call.context, call.principal, call.workspace_id, new)
        row = run_row(tx, call.workspace_id, record.run_id)
        if note is not None:
            runs.change_run(tx, row, RunChange(description=note))
        assert record.spool is not None
        spool.prepare(record.spool)
        return {"run": whole(tx, call, row)}


def get(call: Call) -> dict[str, Any]:
    with call.context.db.read() as tx:
        row = run_row(tx, call.workspace_id, run_id(call))
    if row.spec is None and RunState(row.state) not in TERMINAL:
        spool.drain(call.context, scope_of(row))
    with call.context.db.read() as tx:
        return {"run": whole(tx, call, row)}


def update(call: Call) -> dict[str, Any]:
    """A new name or status. A terminal state never changes, and a submitted run's is its agent's to say."""
    status = call.maybe("status")
    if status is not None and status not in STATES:
        raise InvalidRequest(f"{status!r} is no status of MLflow's. There are {', '.join(STATES)}.")
    with call.context.db.read() as tx:
        row = writable(tx, call, run_id(call))
    if status is not None and row.spec is None:
        spool.drain(call.context, scope_of(row))
    changed = [row.key]
    with call.context.db.write() as tx:
        row = run_row(tx, call.workspace_id, row.run_id)
        if status is not None and row.spec is None and RunState(row.state) not in TERMINAL:
            changed += _move(_writer(tx, call), row, status)
        if call.maybe("run_name"):
            runs.change_run(
                tx, run_row(tx, call.workspace_id, row.run_id), RunChange(display_name=call.text("run_name"))
            )
    for key in changed:
        call.context.hub.notify(key)
    call.context.wake.set()
    with call.context.db.read() as tx:
        return {"run_info": _info(call, described(tx, call.context, [run_row_by_key(tx, row.key)], ())[0], row)}


def delete(call: Call) -> None:
    _archive(call, archived=True)


def restore(call: Call) -> None:
    _archive(call, archived=False)


def log_metric(call: Call) -> None:
    _log(call, metrics_=[dict(call.said, key=call.text("key"))])


def log_param(call: Call) -> None:
    _log(call, params_={call.text("key"): call.text("value", default="")})


def set_tag(call: Call) -> None:
    _log(call, tags={call.text("key"): call.text("value", default="")})


def delete_tag(call: Call) -> None:
    with call.context.db.write() as tx:
        runs.change_run(tx, writable(tx, call, run_id(call)), RunChange(remove_tags=(call.text("key"),)))


def log_batch(call: Call) -> None:
    _log(call, call.items("metrics"), pairs(call.items("params")), pairs(call.items("tags")))


def history(call: Call) -> dict[str, Any]:
    """All numbers of one metric, oldest first; what is no number MLflow has no word for."""
    limit, start = call.whole("max_results", 25_000, 1_000_000), call.start()
    key = call.text("metric_key")
    found = _points(call, run_id(call), key)
    page = [_metric(key, *point) for point in found[start : start + limit]]
    return {"metrics": page, "next_page_token": str(start + limit) if start + limit < len(found) else None}


def histories(call: Call) -> dict[str, Any]:
    """One metric of several runs, thinned out: what comparing charts ask for."""
    limit, key = call.whole("max_results", 2500, 25_000), call.text("metric_key")
    low, high = _step(call, "start_step", -(1 << 62)), _step(call, "end_step", 1 << 62)
    found = []
    for each in call.items("run_ids"):
        points = [point for point in _points(call, str(each), key) if low <= point[2] <= high]
        every = max(1, len(points) // limit)
        kept = [point for at, point in enumerate(points) if at % every == 0 or at == len(points) - 1]
        found += [{**_metric(key, *point), "run_id": str(each)} for point in kept]
    return {"metrics": found}


def _step(call: Call, name: str, otherwise: int) -> int:
    try:
        return int(call.text(name, default=str(otherwise)))
    except ValueError as error:
        raise InvalidRequest(f"{name} is a whole number, not {call.text(name)!r}.") from error


def run_id(call: Call) -> str:
    return call.text("run_id", "run_uuid")


def scope_of(row: RunRow) -> Scope:
    return Scope(row.key, row.workspace_id, row.created_by)


def writable(tx: Connection, call: Call, wanted: str) -> RunRow:
    row = run_row(tx, call.workspace_id, wanted)
    call.principal.require_run(call.workspace_id, lineage(tx, row))
    return row


def whole(tx: Connection, call: Call, row: RunRow) -> dict[str, Any]:
    return shown(tx, call, [run_row_by_key(tx, row.key)])[0]


def shown(tx: Connection, call: Call, rows: list[RunRow]) -> list[dict[str, Any]]:
    found = described(tx, call.context, rows, None)
    said = inputs.of_runs(tx, [row.key for row in rows])
    return [
        {"info": _info(call, each, row), "data": _data(each), **said[row.key]}
        for each, row in zip(found, rows, strict=True)
    ]


def _info(call: Call, found: FoundRun, row: RunRow) -> dict[str, Any]:
    run = found.run
    return {
        "run_id": run.run_id,
        "run_uuid": run.run_id,
        "run_name": run.display_name or run.run_id,
        "experiment_id": row.experiment_id,
        "user_id": run.created_by,
        "status": _STATUS.get(run.state, "SCHEDULED"),
        "start_time": ms(run.started_ns or run.created_ns),
        "end_time": ms(run.ended_ns),
        "artifact_uri": call.address(f"{RUNS}/{run.run_id}"),
        "lifecycle_stage": "active" if row.archived_ns is None else "deleted",
    }


def _data(found: FoundRun) -> dict[str, Any]:
    run = found.run
    tags: dict[str, Any] = {name: value for name, value in run.properties.items() if name.startswith("mlflow.")}
    tags |= {USER: run.created_by, **run.tags, NAME: run.display_name or run.run_id}
    if run.parent_run_id is not None:
        tags[PARENT] = run.parent_run_id
    if run.description is not None:
        tags[NOTE] = run.description
    numbers = [metric for metric in found.metrics if metric.last is not None]
    return {
        "metrics": [_metric(each.name, each.last, each.last_ns or 0, each.last_step or 0) for each in numbers],
        "params": unpaired(found.params),
        "tags": unpaired(tags),
    }


def _metric(name: str, value: float | None, time_ns: int, step: int) -> dict[str, Any]:
    return {"key": name, "value": value, "timestamp": ms(time_ns), "step": step}


def _points(call: Call, wanted: str, key: str) -> list[tuple[float, int, int]]:
    with call.context.db.read() as tx:
        row = run_row(tx, call.workspace_id, wanted)
    if row.spec is None and RunState(row.state) not in TERMINAL:
        spool.drain(call.context, scope_of(row))
    with call.context.db.read() as tx:
        series = metrics.read_series(tx, row.key, key)
    return [
        (float(value), time_ns, step or 0)
        for one in series
        for value, step, time_ns in zip(one.values, one.steps, one.times_ns, strict=True)
        if isinstance(value, int | float)
    ]


def _move(writer: Writer, row: RunRow, status: str) -> list[int]:
    if status == "RUNNING":
        runs.start_run(writer, row)
    elif status == "FINISHED":
        runs.end_run(writer, row, RunState.COMPLETED, "Ended by its MLflow client")
    elif status == "FAILED":
        error = RunError("UserError", "The MLflow client that wrote this run said that it failed.")
        runs.end_run(writer, row, RunState.FAILED, error.message, error)
    elif status == "KILLED":
        return runs.cancel_run(writer, row)
    return []


def _log(
    call: Call,
    metrics_: list[Any] | None = None,
    params_: dict[str, str] | None = None,
    tags: dict[str, str] | None = None,
) -> None:
    """All of it or nothing."""
    batch = _batch(metrics_ or [])
    with call.context.db.write() as tx:
        row = writable(tx, call, run_id(call))
        if params_:
            params.set_params(tx, scope_of(row), params_, params.Source.LOGGED)
        if batch:
            metrics.append(tx, scope_of(row), {name: of_numbers(points) for name, points in batch.items()})
            inputs.model_metrics(tx, call.workspace_id, row.run_id, metrics_ or [], call.context.clock())
        if tags:
            runs.change_run(tx, row, _tag_change(tags))
    call.context.hub.notify(row.key)


def _tag_change(tags: dict[str, str]) -> RunChange:
    kept = {name: value for name, value in tags.items() if name not in (NAME, NOTE)}
    return RunChange(set_tags={**kept}, display_name=tags.get(NAME), description=tags.get(NOTE))


def _batch(given: list[Any]) -> dict[str, list[tuple[int, int | None, float]]]:
    batch: dict[str, list[tuple[int, int | None, float]]] = {}
    for each in given:
        try:
            name, value, step = str(each["key"]), float(each["value"]), int(each.get("step") or 0)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise InvalidRequest('A metric is {"key": …, "value": a number, "timestamp": …, "step": …}.') from error
        time_ns = ns(each.get("timestamp") or 0)
        if not -(1 << 62) < step < 1 << 62 or not -(1 << 62) < time_ns < 1 << 62:
            raise InvalidRequest(f"Step {step} or timestamp of metric {name!r} is out of range.")
        batch.setdefault(name, []).append((time_ns, step, value))
    return batch


def _archive(call: Call, *, archived: bool) -> None:
    with call.context.db.write() as tx:
        runs.archive_run(tx, writable(tx, call, run_id(call)), call.context.clock() if archived else None)


def _writer(tx: Connection, call: Call) -> Writer:
    return Writer(tx, call.context.authenticator, call.context.clock(), call.principal.name)
