"""MLflow's model registry over ours: a registered model is a name, its versions are the registry's own."""

from __future__ import annotations

import posixpath
import urllib.parse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from trainyard.blobs.snapshot import read_manifest
from trainyard.contract.errors import AlreadyExists, InvalidRequest, ModelInUse, UnknownModel
from trainyard.contract.mlflow import MODELS, REGISTERED, RUNS
from trainyard.contract.models import ModelChange, ModelQuery, ModelRecord, ModelSource, NewModel
from trainyard.contract.names import check_name, new_id
from trainyard.server.endpoints import service as endpoints
from trainyard.server.mlflow import models as logged
from trainyard.server.mlflow.matching import fits
from trainyard.server.mlflow.sources import content_of
from trainyard.server.mlflow.tables import registered_models
from trainyard.server.mlflow.wire import Call, ms, pairs, unpaired
from trainyard.server.registry import content, service
from trainyard.server.runs.query import parse_order

_STAGE = "mlflow.stage"
_SOURCE, _MODEL_ID = "mlflow.source", "mlflow.modelId"
_PROMPT = "mlflow.prompt.is_prompt"
_MOST = 1000


def create(call: Call) -> dict[str, Any]:
    name = check_name("a model", call.text("name"))
    if pairs(call.items("tags")).get(_PROMPT, "").lower() == "true":
        raise InvalidRequest("Trainyard keeps models, and no prompts. Keep them in files of the run or of the project.")
    with call.context.db.write() as tx:
        if _name_row(tx, call, name) is not None or _versions(tx, call, name):
            raise AlreadyExists(f"Registered model {name!r} exists already. Register another version of it.")
        _remember(tx, call, name, call.text("description", default=""), pairs(call.items("tags")))
        return {"registered_model": _model(tx, call, name)}


def get(call: Call) -> dict[str, Any]:
    with call.context.db.read() as tx:
        return {"registered_model": _model(tx, call, call.text("name"))}


def change(call: Call) -> dict[str, Any]:
    return _changed(call, lambda _row: {"description": call.text("description", default="")})


def set_tag(call: Call) -> None:
    _changed(call, lambda row: {"tags": {**row.tags, call.text("key"): call.text("value", default="")}})


def delete_tag(call: Call) -> None:
    gone = call.text("key")
    _changed(call, lambda row: {"tags": {name: value for name, value in row.tags.items() if name != gone}})


def remove(call: Call) -> None:
    """The name and every version; refused while a service has one."""
    call.principal.require_owner("delete models")
    name = call.text("name")
    with call.context.db.write() as tx:
        _model(tx, call, name)
        for record in _versions(tx, call, name):
            _remove(tx, call, record)
        here = registered_models.c.name == name
        tx.execute(delete(registered_models).where(here, registered_models.c.workspace_id == call.workspace_id))


def search(call: Call) -> dict[str, Any]:
    wanted = call.text("filter", default="")
    with call.context.db.read() as tx:
        rows = tx.execute(select(registered_models).where(registered_models.c.workspace_id == call.workspace_id))
        names = {row.name for row in rows}
        names |= {record.name for record in _all(tx, call, ModelQuery(latest=True))}
        found = [_model(tx, call, name) for name in sorted(names)]
    kept = [each for each in found if fits(wanted, {"name": each["name"]}, _tags(each))]
    for order in reversed([parse_order(text) for text in call.items("order_by")]):
        field = "name" if order.field.name == "name" else "last_updated_timestamp"
        kept.sort(key=lambda each: each[field], reverse=order.descending)
    return _page(call, "registered_models", kept)


def latest(call: Call) -> dict[str, Any]:
    """The newest version of each stage."""
    name = call.text("name")
    stages = [str(each).lower() for each in call.items("stages")]
    found: dict[str, dict[str, Any]] = {}
    with call.context.db.read() as tx:
        _model(tx, call, name)
        for record in _versions(tx, call, name):
            shown = _version(call, record)
            if not stages or shown["current_stage"].lower() in stages:
                found.setdefault(shown["current_stage"], shown)
    return {"model_versions": list(found.values())}


def create_version(call: Call) -> dict[str, Any]:
    """Content is gathered and checked with no transaction open; the version is given at the very end."""
    name, source = check_name("a model", call.text("name")), call.text("source")
    with call.context.db.read() as tx:
        _model(tx, call, name)
        where = _place(tx, call, source)
    tree, lineage = content_of(call, where)
    files, size = content.measured(call.context.blobs, tree)
    model_id = call.maybe("model_id") or _logged_model(source)
    told = {_SOURCE: source} | ({_MODEL_ID: model_id} if model_id else {})
    new = NewModel(
        name,
        ModelSource(content=tree),
        new_id(),
        description=call.maybe("description"),
        tags={**pairs(call.items("tags"))},
        properties=told,
    )
    with call.context.db.write() as tx:
        counted = (tree, files, size)
        now = call.context.clock()
        record = service.register(tx, call.workspace_id, call.principal.name, new, counted, lineage, now)
        return {"model_version": _version(call, record)}


def get_version(call: Call) -> dict[str, Any]:
    with call.context.db.read() as tx:
        return {"model_version": _version(call, _record(tx, call))}


def change_version(call: Call) -> dict[str, Any]:
    return _change_version(call, ModelChange(description=call.text("description", default="")))


def set_version_tag(call: Call) -> None:
    _change_version(call, ModelChange(set_tags={call.text("key"): call.text("value", default="")}))


def delete_version_tag(call: Call) -> None:
    _change_version(call, ModelChange(remove_tags=(call.text("key"),)))


def to_stage(call: Call) -> dict[str, Any]:
    stage = call.text("stage").capitalize()
    if str(call.said.get("archive_existing_versions", "")).lower() == "true":
        with call.context.db.write() as tx:
            for record in _versions(tx, call, call.text("name")):
                if record.tags.get(_STAGE) == stage:
                    archived = ModelChange(set_tags={_STAGE: "Archived"})
                    service.change(tx, call.workspace_id, record.id, archived, call.context.clock())
    return _change_version(call, ModelChange(set_tags={_STAGE: stage}))


def remove_version(call: Call) -> None:
    call.principal.require_owner("delete models")
    with call.context.db.write() as tx:
        _remove(tx, call, _record(tx, call))


def search_versions(call: Call) -> dict[str, Any]:
    wanted = call.text("filter", default="")
    with call.context.db.read() as tx:
        shown = [_version(call, record) for record in _all(tx, call, ModelQuery())]
    kept = []
    for each in shown:
        known = {"name": each["name"], "run_id": each["run_id"], "source_path": each["source"]}
        if fits(wanted, {**known, "version_number": each["version"]}, _tags(each)):
            kept.append(each)
    return _page(call, "model_versions", kept)


def download_uri(call: Call) -> dict[str, Any]:
    with call.context.db.read() as tx:
        record = _record(tx, call)
    return {"artifact_uri": call.address(_folder(call, record))}


def set_alias(call: Call) -> None:
    with call.context.db.write() as tx:
        service.set_alias(tx, call.workspace_id, call.principal.name, _record(tx, call).id, call.text("alias"))


def remove_alias(call: Call) -> None:
    with call.context.db.write() as tx:
        service.remove_alias(tx, call.workspace_id, call.text("name"), call.text("alias"))


def by_alias(call: Call) -> dict[str, Any]:
    with call.context.db.read() as tx:
        found = service.get(tx, call.workspace_id, f"{call.text('name')}@{call.text('alias')}")
    return {"model_version": _version(call, found)}


def _place(tx: Connection, call: Call, source: str) -> tuple[str, str, str]:
    """A version's source as (kind, owner, path): where its files are with us."""
    path = urllib.parse.unquote(urllib.parse.urlsplit(source).path).strip("/")
    scheme = source.partition(":")[0]
    if (model_id := _logged_model(source)) is not None:
        path = logged.folder_of(tx, call.workspace_id, model_id)
    elif scheme == "models":
        name, _, which = path.partition("/")
        path = f"{REGISTERED}/{service.get(tx, call.workspace_id, f'{name}:{which}' if which else path).id}"
    elif scheme == "runs":
        path = f"{RUNS}/{path}"
    else:
        path = path.partition("artifacts/")[2] or path
    kind, _, rest = path.partition("/")
    owner, _, below = rest.partition("/")
    if kind not in (RUNS, MODELS, REGISTERED) or not owner:
        raise InvalidRequest(
            f"{source!r} is no place of this workspace. Register from runs:/<run id>/<path> or a logged model."
        )
    return kind, owner, below


def _logged_model(source: str) -> str | None:
    """The logged model that `models:/m-…` names."""
    address = urllib.parse.urlsplit(source)
    path = urllib.parse.unquote(address.path).strip("/")
    return path if address.scheme == "models" and path.startswith("m-") else None


def _folder(call: Call, record: ModelRecord) -> str:
    """Where its files begin: in the one folder its tree has, as MLflow's models have their MLmodel at the top."""
    whole = f"{REGISTERED}/{record.id}"
    tops = {entry.path.partition("/")[0] for entry in read_manifest(call.context.blobs, record.content)}
    plain = any("/" not in entry.path for entry in read_manifest(call.context.blobs, record.content))
    return whole if plain or len(tops) != 1 else posixpath.join(whole, tops.pop())


def _model(tx: Connection, call: Call, name: str) -> dict[str, Any]:
    row, versions = _name_row(tx, call, name), _versions(tx, call, name)
    if row is None and not versions:
        raise UnknownModel(f"name {name}", [each.name for each in _newest(tx, call)])
    newest: dict[str, dict[str, Any]] = {}
    for record in versions:
        shown = _version(call, record)
        newest.setdefault(shown["current_stage"], shown)
    created = row.created_ns if row is not None else versions[-1].created_ns
    updated = max([row.updated_ns if row is not None else 0, *(record.modified_ns for record in versions)])
    return {
        "name": name,
        "creation_timestamp": ms(created),
        "last_updated_timestamp": ms(updated),
        "user_id": row.created_by if row is not None else versions[-1].created_by,
        "description": row.description if row is not None else "",
        "latest_versions": list(newest.values()),
        "tags": unpaired(row.tags if row is not None else {}),
        "aliases": [{"alias": each, "version": str(it.version)} for it in versions for each in it.aliases],
    }


def _version(call: Call, record: ModelRecord) -> dict[str, Any]:
    tags = {name: value for name, value in record.tags.items() if name != _STAGE}
    return {
        "name": record.name,
        "version": str(record.version),
        "creation_timestamp": ms(record.created_ns),
        "last_updated_timestamp": ms(record.modified_ns),
        "user_id": record.created_by,
        "current_stage": record.tags.get(_STAGE) or "None",
        "description": record.description or "",
        "source": record.properties.get(_SOURCE) or call.address(f"{REGISTERED}/{record.id}"),
        "run_id": record.lineage.run_id if record.lineage is not None else "",
        "status": "READY",
        "tags": unpaired(tags),
        "aliases": list(record.aliases),
        "model_id": record.properties.get(_MODEL_ID),
    }


def _versions(tx: Connection, call: Call, name: str) -> list[ModelRecord]:
    """Newest first."""
    return _all(tx, call, ModelQuery(name=name))


def _all(tx: Connection, call: Call, query: ModelQuery) -> list[ModelRecord]:
    """What a query finds, however many pages that are."""
    found: list[ModelRecord] = []
    while True:
        page = service.list_models(tx, call.workspace_id, replace(query, limit=_MOST))
        found += page.models
        if page.next is None:
            return found
        query = replace(query, before=page.next)


def _newest(tx: Connection, call: Call) -> tuple[ModelRecord, ...]:
    return service.list_models(tx, call.workspace_id, ModelQuery(latest=True, limit=_MOST)).models


def _record(tx: Connection, call: Call) -> ModelRecord:
    return service.get(tx, call.workspace_id, f"{call.text('name')}:{call.text('version')}")


def _remove(tx: Connection, call: Call, record: ModelRecord) -> None:
    if deployed := endpoints.services_with(tx, call.workspace_id, record.id):
        raise ModelInUse(record.id, deployed)
    service.remove(tx, record)


def _change_version(call: Call, wish: ModelChange) -> dict[str, Any]:
    with call.context.db.write() as tx:
        record = service.change(tx, call.workspace_id, _record(tx, call).id, wish, call.context.clock())
    return {"model_version": _version(call, record)}


def _changed(call: Call, change: Callable[[Row[Any]], dict[str, Any]]) -> dict[str, Any]:
    name = call.text("name")
    with call.context.db.write() as tx:
        _model(tx, call, name)
        if _name_row(tx, call, name) is None:
            _remember(tx, call, name, "", {})  # one that MLflow had not heard of so far
        row = _name_row(tx, call, name)
        assert row is not None
        here = (registered_models.c.workspace_id == call.workspace_id) & (registered_models.c.name == name)
        tx.execute(update(registered_models).where(here).values(**change(row), updated_ns=call.context.clock()))
        return {"registered_model": _model(tx, call, name)}


def _remember(tx: Connection, call: Call, name: str, description: str, tags: dict[str, str]) -> None:
    now = call.context.clock()
    values = {"description": description, "tags": tags, "created_ns": now, "updated_ns": now}
    row = {"workspace_id": call.workspace_id, "name": name, "created_by": call.principal.name, **values}
    tx.execute(insert(registered_models), row)


def _name_row(tx: Connection, call: Call, name: str) -> Row[Any] | None:
    here = (registered_models.c.workspace_id == call.workspace_id) & (registered_models.c.name == name)
    return tx.execute(select(registered_models).where(here)).first()


def _tags(shown: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["value"] for each in shown["tags"]}


def _page(call: Call, name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    limit, start = call.whole("max_results", 100, 200_000), call.start()
    following = str(start + limit) if start + limit < len(found) else None
    return {name: found[start : start + limit], "next_page_token": following}


def rename(call: Call) -> dict[str, Any]:
    raise InvalidRequest(
        f"Models are not renamed: services and runs know {call.text('name')!r} by name. Register it under another."
    )
