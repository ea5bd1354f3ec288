"""MLflow's logged models. The files of one that a run made are that run's own, in a folder of the model's name."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from trainyard.contract.errors import InvalidRequest, NotFound
from trainyard.contract.mlflow import MODELS, RUNS
from trainyard.contract.names import check_file_name, new_id
from trainyard.contract.runs import RunFile
from trainyard.server.identity.service import Principal
from trainyard.server.mlflow.experiments import by_id
from trainyard.server.mlflow.tables import logged_model_files, logged_models
from trainyard.server.mlflow.wire import Call, ms, pairs, unpaired
from trainyard.server.runs.query import All, Compare, Node, Not, Number, parse
from trainyard.server.runs.records import lineage, run_row

_READY = ("LOGGED_MODEL_READY", "LOGGED_MODEL_UPLOAD_FAILED", "LOGGED_MODEL_PENDING")
_NAME = re.compile(r"[^/:.%\"']{1,250}")
_MOST = 100


def create(call: Call) -> dict[str, Any]:
    model_id = f"m-{new_id()}"
    name = call.text("name", default=f"model-{model_id[2:10]}")
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"{name!r} cannot be a model's name: no '/', ':', '.', '%' or quotes. Choose another.")
    now = call.context.clock()
    with call.context.db.write() as tx:
        experiment = by_id(tx, call, call.text("experiment_id", default="0"))
        run_id = call.maybe("source_run_id")
        if run_id:
            call.principal.require_run(call.workspace_id, lineage(tx, run_row(tx, call.workspace_id, run_id)))
        values: dict[str, Any] = {
            "model_id": model_id,
            "workspace_id": call.workspace_id,
            "created_by": call.principal.name,
            "experiment_id": experiment.id,
            "run_id": run_id or None,
            "name": name,
            "folder": _free_folder(tx, call.workspace_id, run_id, name, model_id) if run_id else f"{MODELS}/{model_id}",
            "status": "LOGGED_MODEL_PENDING",
            "model_type": call.maybe("model_type"),
            "tags": pairs(call.items("tags")),
            "params": pairs(call.items("params")),
            "metrics": [],
            "created_ns": now,
            "updated_ns": now,
        }
        tx.execute(insert(logged_models), values)
        return {"model": shown(call, _row(tx, call.workspace_id, model_id))}


def get(call: Call) -> dict[str, Any]:
    with call.context.db.read() as tx:
        return {"model": shown(call, _row(tx, call.workspace_id, call.text("model_id")))}


def finalize(call: Call) -> dict[str, Any]:
    status = call.text("status")
    if status not in _READY:
        raise InvalidRequest(f"{status!r} is no status of a logged model. There are {', '.join(_READY)}.")
    return _changed(call, lambda _row: {"status": status})


def set_tags(call: Call) -> dict[str, Any]:
    return _changed(call, lambda row: {"tags": {**row.tags, **pairs(call.items("tags"))}})


def delete_tag(call: Call) -> dict[str, Any]:
    gone = call.text("tag_key")
    return _changed(call, lambda row: {"tags": {name: value for name, value in row.tags.items() if name != gone}})


def log_params(call: Call) -> None:
    _changed(call, lambda row: {"params": {**row.params, **pairs(call.items("params"))}})


def remove(call: Call) -> None:
    """The model; files that a run made stay with the run."""
    with call.context.db.write() as tx:
        row = _writable(tx, call)
        tx.execute(delete(logged_models).where(logged_models.c.model_id == row.model_id))


def search(call: Call) -> dict[str, Any]:
    limit, start = call.whole("max_results", _MOST, 1000), call.start()
    fits = parse(call.text("filter", default=""))
    with call.context.db.read() as tx:
        ids = [by_id(tx, call, str(each)).id for each in call.items("experiment_ids") if str(each) != "0"]
        here = (logged_models.c.workspace_id == call.workspace_id) & logged_models.c.experiment_id.in_(ids)
        rows = tx.execute(select(logged_models).where(here).order_by(logged_models.c.created_ns.desc())).all()
    found = [row for row in rows if _fits(fits, row)]
    for order in reversed(call.items("order_by")):
        field = str(order.get("field_name", "creation_timestamp"))
        keyed = [(key, row) for row in found if (key := _field(field, row)) is not None]
        bare = [row for row in found if _field(field, row) is None]
        keyed.sort(key=lambda pair: pair[0], reverse=not order.get("ascending", True))
        found = [row for _, row in keyed] + bare
    page = {"models": [shown(call, row) for row in found[start : start + limit]]}
    return {**page, "next_page_token": str(start + limit) if start + limit < len(found) else None}


def shown(call: Call, row: Row[Any]) -> dict[str, Any]:
    info = {
        "model_id": row.model_id,
        "experiment_id": row.experiment_id,
        "name": row.name,
        "creation_timestamp_ms": ms(row.created_ns),
        "last_updated_timestamp_ms": ms(row.updated_ns),
        "artifact_uri": call.address(row.folder),
        "status": row.status,
        "model_type": row.model_type,
        "source_run_id": row.run_id,
        "tags": unpaired(row.tags),
    }
    wanted = ("key", "value", "timestamp", "step", "dataset_name", "dataset_digest", "run_id")
    metrics = [{name: each[name] for name in wanted if each.get(name) is not None} for each in row.metrics]
    metrics = [{**each, "model_id": row.model_id} for each in metrics]
    return {"info": info, "data": {"params": unpaired(row.params), "metrics": metrics}}


def require_writable(tx: Connection, principal: Principal, workspace_id: str, model_id: str) -> Row[Any]:
    """Whoever may write the run it is from; where there is none, the owner and the job that made it."""
    row = _row(tx, workspace_id, model_id)
    if row.run_id:
        principal.require_run(workspace_id, lineage(tx, run_row(tx, workspace_id, row.run_id)))
    elif row.created_by != principal.name:
        principal.require_owner("change a logged model that it did not make")
    return row


def folder_of(tx: Connection, workspace_id: str, model_id: str) -> str:
    folder: str = _row(tx, workspace_id, model_id).folder
    return folder


def files(tx: Connection, workspace_id: str, model_id: str) -> list[RunFile]:
    _row(tx, workspace_id, model_id)
    rows = tx.execute(select(logged_model_files).where(logged_model_files.c.model_id == model_id))
    return [RunFile(row.name, row.size, row.digest) for row in rows]


def add_file(tx: Connection, workspace_id: str, model_id: str, file: RunFile) -> None:
    row = _row(tx, workspace_id, model_id)
    name = check_file_name(file.name)
    here = (logged_model_files.c.model_id == model_id) & (logged_model_files.c.name == name)
    tx.execute(delete(logged_model_files).where(here))
    owner = {"workspace_id": row.workspace_id, "created_by": row.created_by}
    values = {"model_id": model_id, "name": name, "digest": file.digest, "size": file.size}
    tx.execute(insert(logged_model_files), {**values, **owner})


def remove_files(tx: Connection, workspace_id: str, model_id: str, path: str) -> None:
    _row(tx, workspace_id, model_id)
    columns = logged_model_files.c
    here = columns.model_id == model_id
    if path:
        here &= columns.name.startswith(f"{path}/", autoescape=True) | (columns.name == path)
    tx.execute(delete(logged_model_files).where(here))


def _free_folder(tx: Connection, workspace_id: str, run_id: str, name: str, model_id: str) -> str:
    """`runs/ID/NAME`, where `runs:/ID/NAME` looks for it; a second model of that name gets a folder of its own."""
    wanted = f"{RUNS}/{run_id}/{name}"
    here = (logged_models.c.workspace_id == workspace_id) & (logged_models.c.folder == wanted)
    taken = tx.execute(select(logged_models.c.model_id).where(here)).first() is not None
    return f"{RUNS}/{run_id}/{MODELS}/{model_id}" if taken else wanted


def _changed(call: Call, change: Any) -> dict[str, Any]:
    with call.context.db.write() as tx:
        row = _writable(tx, call)
        values = {**change(row), "updated_ns": call.context.clock()}
        tx.execute(update(logged_models).where(logged_models.c.model_id == row.model_id).values(**values))
        return {"model": shown(call, _row(tx, call.workspace_id, row.model_id))}


def _writable(tx: Connection, call: Call) -> Row[Any]:
    return require_writable(tx, call.principal, call.workspace_id, call.text("model_id"))


def _row(tx: Connection, workspace_id: str, model_id: str) -> Row[Any]:
    here = (logged_models.c.workspace_id == workspace_id) & (logged_models.c.model_id == model_id)
    row = tx.execute(select(logged_models).where(here)).first()
    if row is None:
        raise NotFound(
            f"There is no logged model {model_id!r} in this workspace. mlflow.search_logged_models() lists them."
        )
    return row


def _fits(node: Node, row: Row[Any]) -> bool:
    if isinstance(node, Not):
        return not _fits(node.part, row)
    if isinstance(node, Compare):
        return _holds(node, row)
    parts = (_fits(part, row) for part in node.parts)
    return all(parts) if isinstance(node, All) else any(parts)


def _holds(compare: Compare, row: Row[Any]) -> bool:
    found = _field_of(compare, row)
    if compare.operator == "is":
        return (found is None) is not compare.negated
    if found is None:
        return False
    wanted: list[Any] = [
        float(value) if isinstance(value, Number) and isinstance(found, float) else str(getattr(value, "text", value))
        for value in compare.values
    ]
    if isinstance(found, float) and not all(isinstance(value, float) for value in wanted):
        raise InvalidRequest(f"{compare.field.name} is compared with a number.")
    tests = {"=": found == wanted[0], "!=": found != wanted[0], "in": found in wanted}
    if isinstance(found, float):
        tests |= {"<": found < wanted[0], "<=": found <= wanted[0], ">": found > wanted[0], ">=": found >= wanted[0]}
    if compare.operator not in tests:
        raise InvalidRequest(
            f"Logged models are not searched with {compare.operator!r} here. Use = != in, or < > for metrics."
        )
    return tests[compare.operator] is not compare.negated


def _field_of(compare: Compare, row: Row[Any]) -> Any:
    field = compare.field
    if field.kind == "attribute":
        return _field({"name": "name", "status": "status"}.get(field.name, field.name), row)
    return _field(f"{field.kind}s.{field.name}", row)


def _field(name: str, row: Row[Any]) -> Any:
    """A field of a model by MLflow's name; None where the model has no such."""
    space, _, rest = name.partition(".")
    if space == "metrics":
        return next((float(each["value"]) for each in row.metrics if each.get("key") == rest), None)
    if space in ("params", "tags"):
        return getattr(row, space).get(rest)
    times = {
        "creation_timestamp": row.created_ns / 1e6,
        "creation_time": row.created_ns / 1e6,
        "created": row.created_ns / 1e6,
    }
    texts = {"name": row.name, "model_id": row.model_id, "status": row.status.removeprefix("LOGGED_MODEL_")}
    texts |= {"model_type": row.model_type, "type": row.model_type, "source_run_id": row.run_id, "run_id": row.run_id}
    known = {**times, **texts, "last_updated_timestamp": row.updated_ns / 1e6}
    if name not in known:
        raise InvalidRequest(f"Logged models have no {name!r}. Use name, metrics.…, params.… or tags.….")
    return known[name]
