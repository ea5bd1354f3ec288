"""Register models and look them up. Versions count up without gaps, however many register at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import Conflict, InvalidRequest, UnknownModel
from trainyard.contract.models import (
    LATEST,
    Framework,
    Lineage,
    ModelChange,
    ModelPage,
    ModelQuery,
    ModelRecord,
    NewModel,
    Resources,
    split_id,
)
from trainyard.contract.names import check_name
from trainyard.server.registry.tables import model_aliases, model_names, models

MAX_PAGE = 1000
_CHUNK = 500
_MOST_NAMED = 10  # versions, in an error

Labels = Iterable[tuple[str | None, ...]]


def check_new(new: NewModel) -> None:
    """What can be refused before any content is looked at."""
    check_name("a model", new.name)
    if new.framework is None and new.framework_version is not None:
        raise InvalidRequest("model_framework_version says little without model_framework. Give both, or neither.")
    if new.framework is not None and new.framework not in set(Framework):
        raise InvalidRequest(f"{new.framework!r} is no model framework. Use one of: {', '.join(Framework)}.")
    check_resources(new.resources)


def check_resources(resources: Resources | None) -> None:
    for name, value in (to_json(resources) or {}).items():
        if value is not None and not value > 0:
            raise InvalidRequest(f"The model's {name} is {value}; give a number above 0, or leave it out.")


def register(
    tx: Connection,
    workspace_id: str,
    principal: str,
    new: NewModel,
    content: tuple[str, int, int],
    lineage: Lineage | None,
    now_ns: int,
) -> ModelRecord:
    """The next version. `content` is the digest of its tree, how many files it has and how many bytes. A request that
    comes a second time is answered with what the first one made."""
    here = (models.c.workspace_id == workspace_id) & (models.c.request == new.request_id)
    if (known := tx.execute(select(models).where(here)).first()) is not None:
        return _records(tx, [known])[0]
    digest, files, size = content
    row = {
        "workspace_id": workspace_id,
        "created_by": principal,
        "name": new.name,
        "version": _next_version(tx, workspace_id, principal, new.name),
        "request": new.request_id,
        "content": digest,
        "files": files,
        "size": size,
        "framework": new.framework,
        "framework_version": new.framework_version,
        "description": new.description,
        "tags": dict(new.tags),
        "properties": dict(new.properties),
        "resources": to_json(new.resources),
        "sample_input_dataset": new.sample_input_dataset,
        "sample_output_dataset": new.sample_output_dataset,
        "datasets": to_json(new.datasets),
        "run_id": lineage.run_id if lineage is not None else None,
        "lineage": to_json(lineage),
        "created_ns": now_ns,
        "modified_ns": now_ns,
    }
    made = tx.execute(insert(models).values(**row).returning(*models.c)).one()
    return _records(tx, [made])[0]


def get(tx: Connection, workspace_id: str, model_id: str) -> ModelRecord:
    """By `name:version`, `name@alias`, or the name alone for its newest version."""
    name, which = split_id(model_id)
    if which is None or which == LATEST:
        return find(tx, workspace_id, ModelQuery(name=name, latest=True))
    if which.isdigit():
        return find(tx, workspace_id, ModelQuery(name=name, version=int(which)))
    return find(tx, workspace_id, ModelQuery(name=name, alias=which))


def find(tx: Connection, workspace_id: str, query: ModelQuery) -> ModelRecord:
    """The newest that fits, or UnknownModel."""
    page = list_models(tx, workspace_id, replace(query, limit=1, before=None))
    if not page.models:
        raise UnknownModel(_said(query), _near(tx, workspace_id, query.name), query.name)
    return page.models[0]


def list_models(tx: Connection, workspace_id: str, query: ModelQuery) -> ModelPage:
    wanted = _wanted(workspace_id, query)
    if query.alias is not None and query.alias != LATEST:
        wanted = wanted.join(
            model_aliases,
            (model_aliases.c.workspace_id == models.c.workspace_id)
            & (model_aliases.c.name == models.c.name)
            & (model_aliases.c.version == models.c.version),
        ).where(model_aliases.c.alias == query.alias)
    limit = max(1, min(query.limit, MAX_PAGE))
    seen: set[str] = set()
    found: list[Row[Any]] = []
    for row in _below(tx, wanted, query.before):
        # of each name the newest is the one with the highest key; its labels are asked about afterwards
        if (query.latest or query.alias == LATEST) and row.name in seen:
            continue
        seen.add(row.name)
        if not _fits(row, query):
            continue
        found.append(row)
        if len(found) == limit:
            break
    return ModelPage(tuple(_records(tx, found)), found[-1].key if len(found) == limit else None)


def change(tx: Connection, workspace_id: str, model_id: str, wish: ModelChange, now_ns: int) -> ModelRecord:
    record = get(tx, workspace_id, model_id)
    check_resources(wish.resources)
    for name, value in wish.add_properties.items():
        if name in record.properties and record.properties[name] != value:
            raise Conflict(
                f"Property {name!r} of model {record.id} is already set, and properties are written once. Use a tag."
            )
    tags = record.tags if wish.replace_tags is None else wish.replace_tags
    kept = {name: value for name, value in tags.items() if name not in wish.remove_tags}
    given = {
        "description": wish.description,
        "resources": to_json(wish.resources),
        "sample_input_dataset": wish.sample_input_dataset,
        "sample_output_dataset": wish.sample_output_dataset,
    }
    datasets = [*record.datasets, *(pair for pair in wish.add_datasets if pair not in record.datasets)]
    values = {
        "tags": {**kept, **wish.set_tags},
        "properties": {**record.properties, **wish.add_properties},
        "datasets": to_json(datasets),
        "modified_ns": now_ns,
        **{name: value for name, value in given.items() if value is not None},
    }
    tx.execute(update(models).where(_is(record)).values(**values))
    return get(tx, workspace_id, record.id)


def set_alias(tx: Connection, workspace_id: str, principal: str, model_id: str, alias: str) -> ModelRecord:
    """Puts the alias on that version, and takes it off the one that had it."""
    check_name("an alias", alias)
    record = get(tx, workspace_id, model_id)
    remove_alias(tx, workspace_id, record.name, alias)
    row = {"workspace_id": workspace_id, "name": record.name, "alias": alias}
    tx.execute(insert(model_aliases).values(**row, created_by=principal, version=record.version))
    return get(tx, workspace_id, record.id)


def remove_alias(tx: Connection, workspace_id: str, name: str, alias: str) -> None:
    here = (model_aliases.c.workspace_id == workspace_id) & (model_aliases.c.name == name)
    tx.execute(delete(model_aliases).where(here, model_aliases.c.alias == alias))


def remove(tx: Connection, record: ModelRecord) -> None:
    """The version and the aliases on it. Its content stays in the store: others may have the same."""
    tx.execute(delete(models).where(_is(record)))
    here = (model_aliases.c.workspace_id == record.workspace_id) & (model_aliases.c.name == record.name)
    tx.execute(delete(model_aliases).where(here, model_aliases.c.version == record.version))


def remove_all(tx: Connection, workspace_id: str) -> None:
    """The workspace goes, and all its models with it."""
    for table in (models, model_names, model_aliases):
        tx.execute(delete(table).where(table.c.workspace_id == workspace_id))


def _next_version(tx: Connection, workspace_id: str, principal: str, name: str) -> int:
    here = (model_names.c.workspace_id == workspace_id) & (model_names.c.name == name)
    # the row is locked until this transaction ends, so numbers are given one after the other and none is lost
    up = update(model_names).where(here).values(last_version=model_names.c.last_version + 1)
    up = up.returning(model_names.c.last_version)
    if (given := tx.execute(up).scalar()) is not None:
        return int(given)
    try:
        with tx.begin_nested():
            first = {"workspace_id": workspace_id, "name": name, "created_by": principal, "last_version": 1}
            tx.execute(insert(model_names).values(**first))
        return 1
    except IntegrityError:  # another one was first
        return int(tx.execute(up).scalar_one())


def _wanted(workspace_id: str, query: ModelQuery) -> Select[Any]:
    wanted = select(models).where(models.c.workspace_id == workspace_id)
    for column, value in (
        (models.c.name, query.name),
        (models.c.version, query.version),
        (models.c.run_id, query.run_id),
        (models.c.framework, query.framework),
    ):
        if value is not None:
            wanted = wanted.where(column == value)
    return wanted.order_by(models.c.key.desc())


def _below(tx: Connection, wanted: Select[Any], before: int | None) -> Iterator[Row[Any]]:
    while True:
        part = wanted if before is None else wanted.where(models.c.key < before)
        rows = tx.execute(part.limit(_CHUNK)).all()
        yield from rows
        if len(rows) < _CHUNK:
            return
        before = rows[-1].key


def _fits(row: Row[Any], query: ModelQuery) -> bool:
    used = query.dataset_id is None or any(pair[-1] == query.dataset_id for pair in row.datasets)
    return used and has_labels(row.tags, query.tags) and has_labels(row.properties, query.properties)


def has_labels(labels: dict[str, Any], wanted: Labels) -> bool:
    return all(pair[0] in labels and (len(pair) == 1 or labels[pair[0]] == pair[1]) for pair in wanted)


def _is(record: ModelRecord) -> Any:
    here = (models.c.workspace_id == record.workspace_id) & (models.c.name == record.name)
    return here & (models.c.version == record.version)


def _near(tx: Connection, workspace_id: str, name: str | None) -> list[str]:
    """What is there instead: the name's versions, the newest first, or else the names."""
    here = models.c.workspace_id == workspace_id
    newest_first = select(models.c.version).where(here & (models.c.name == name)).order_by(models.c.version.desc())
    versions = tx.execute(newest_first.limit(_MOST_NAMED)).scalars().all()
    if versions:
        return [f"{name}:{version}" for version in versions]
    return sorted(tx.execute(select(models.c.name).where(here).distinct()).scalars())


def _said(query: ModelQuery) -> str:
    parts = [f"name {query.name}"] if query.name else []
    parts += [f"version {query.version}"] if query.version is not None else []
    parts += [f"alias {query.alias}"] if query.alias else []
    parts += [f"tags {', '.join(map(_label, query.tags))}"] if query.tags else []
    parts += [f"run_id {query.run_id}"] if query.run_id else []
    return ", ".join(parts) or "these properties"


def _label(wanted: tuple[str | None, ...]) -> str:
    return repr(wanted[0] if len(wanted) == 1 else list(wanted))


def _records(tx: Connection, rows: list[Row[Any]]) -> list[ModelRecord]:
    if not rows:
        return []
    names = {row.name for row in rows}
    here = (model_aliases.c.workspace_id == rows[0].workspace_id) & model_aliases.c.name.in_(names)
    aliases: dict[tuple[str, int], list[str]] = {}
    for alias in tx.execute(select(model_aliases).where(here).order_by(model_aliases.c.alias)):
        aliases.setdefault((alias.name, alias.version), []).append(alias.alias)
    return [_record(row, tuple(aliases.get((row.name, row.version), ()))) for row in rows]


def _record(row: Row[Any], aliases: tuple[str, ...]) -> ModelRecord:
    fields = dict(row._mapping)
    for inner in ("key", "request", "run_id"):
        del fields[inner]
    return from_json(ModelRecord, {**fields, "aliases": aliases})
