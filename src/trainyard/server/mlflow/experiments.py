"""MLflow's experiments are ours; a deleted one is an archived one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from trainyard.contract.errors import AlreadyExists, InvalidRequest, NotFound, UnknownExperiment
from trainyard.contract.runs import ExperimentRecord
from trainyard.server.mlflow.matching import fits
from trainyard.server.mlflow.wire import Call, ms, pairs, unpaired
from trainyard.server.runs.query import parse_order
from trainyard.server.workspaces import service as workspaces
from trainyard.server.workspaces.service import ExperimentChange

DEFAULT_ID, DEFAULT_NAME = "0", "Default"  # MLflow's own words for where runs go that name no experiment


def create(call: Call) -> dict[str, Any]:
    name = call.text("name")
    if call.maybe("artifact_location"):
        raise InvalidRequest(
            "artifact_location cannot be chosen: Trainyard keeps the files of runs in its own store. Leave it out."
        )
    with call.context.db.write() as tx:
        if find(tx, call.workspace_id, name) is not None:
            raise AlreadyExists(f"Experiment {name!r} exists already. Use mlflow.set_experiment({name!r}).")
        made = workspaces.ensure_experiment(tx, call.workspace_id, name, call.principal.name, call.context.clock())
        if tags := pairs(call.items("tags")):
            change = ExperimentChange(set_tags={**tags})
            workspaces.change_experiment(tx, call.workspace_id, name, change, call.context.clock())
    return {"experiment_id": made.id}


def get(call: Call) -> dict[str, Any]:
    wanted = call.text("experiment_id")
    with call.context.db.write() if wanted == DEFAULT_ID else call.context.db.read() as tx:
        return {"experiment": shown(call, by_id(tx, call, wanted))}


def get_by_name(call: Call) -> dict[str, Any]:
    name = call.text("experiment_name")
    with call.context.db.read() as tx:
        if (found := find(tx, call.workspace_id, name)) is None:
            raise UnknownExperiment(name)
    return {"experiment": shown(call, found)}


def search(call: Call) -> dict[str, Any]:
    view = {"ACTIVE_ONLY": "active", "DELETED_ONLY": "archived", "ALL": "all"}.get(
        call.text("view_type", default="ACTIVE_ONLY"), "active"
    )
    wanted = call.text("filter", default="")
    with call.context.db.read() as tx:
        known = workspaces.list_experiments(tx, call.workspace_id, view)
    found = [each for each in known if fits(wanted, {"name": each.name}, {k: str(v) for k, v in each.tags.items()})]
    found.sort(key=lambda each: each.created_ns, reverse=True)
    for order in reversed([parse_order(text) for text in call.items("order_by")]):
        found.sort(key=_key(order.field.name), reverse=order.descending)
    limit = call.whole("max_results", 1000, 50_000)
    start = call.start()
    page = {"experiments": [shown(call, each) for each in found[start : start + limit]]}
    return {**page, "next_page_token": str(start + limit) if start + limit < len(found) else None}


def update(call: Call) -> None:
    _change(call, ExperimentChange(new_name=call.text("new_name")))


def delete(call: Call) -> None:
    _change(call, ExperimentChange(archived=True))


def restore(call: Call) -> None:
    _change(call, ExperimentChange(archived=False))


def set_tag(call: Call) -> None:
    _change(call, ExperimentChange(set_tags={call.text("key"): call.text("value", default="")}))


def delete_tag(call: Call) -> None:
    _change(call, ExperimentChange(remove_tags=(call.text("key"),)))


def by_id(tx: Connection, call: Call, experiment_id: str) -> ExperimentRecord:
    """`0` is the one that is always there; in a job, the job's own."""
    if experiment_id != DEFAULT_ID:
        return workspaces.experiment_by_id(tx, call.workspace_id, experiment_id)
    now = call.context.clock()
    return workspaces.ensure_experiment(tx, call.workspace_id, DEFAULT_NAME, call.principal.name, now)


def find(tx: Connection, workspace_id: str, name: str) -> ExperimentRecord | None:
    try:
        return workspaces.get_experiment(tx, workspace_id, name)
    except UnknownExperiment:
        return None


def shown(call: Call, record: ExperimentRecord) -> dict[str, Any]:
    return {
        "experiment_id": record.id,
        "name": record.name,
        "artifact_location": call.address(f"experiments/{record.id}"),
        "lifecycle_stage": "active" if record.archived_ns is None else "deleted",
        "creation_time": ms(record.created_ns),
        "last_update_time": ms(record.archived_ns or record.created_ns),
        "tags": unpaired(record.tags),
    }


def _change(call: Call, change: ExperimentChange) -> None:
    call.principal.require_owner("change experiments")
    with call.context.db.write() as tx:
        record = by_id(tx, call, call.text("experiment_id"))
        workspaces.change_experiment(tx, call.workspace_id, record.name, change, call.context.clock())


def _key(name: str) -> Callable[[ExperimentRecord], Any]:
    keys: dict[str, Callable[[ExperimentRecord], Any]] = {
        "name": lambda each: each.name,
        "experiment": lambda each: each.name,
        "experiment_id": lambda each: each.id,
        "created": lambda each: each.created_ns,
    }
    if name not in keys:
        raise NotFound(f"Experiments are not ordered by {name!r}. Use name, experiment_id or creation_time.")
    return keys[name]
