"""Datasets: saved, registered, found; and lineage."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.data import (
    DatasetChange,
    DatasetDefinition,
    DatasetRecord,
    DataUse,
    NewDataset,
)
from trainyard.contract.errors import DatasetExists, InvalidRequest, UnknownDataset
from trainyard.contract.names import check_name, new_id
from trainyard.server.data.tables import data_uses, datasets, datastores
from trainyard.server.scope import Scope

_KINDS = ("file", "tabular")
_MOST_SOURCES = 10_000


def save(tx: Connection, workspace_id: str, who: str, new: NewDataset, now_ns: int) -> DatasetRecord:
    """A registered version for a named one; else the saved one of that definition, made if it is not there."""
    if new.definition.kind not in _KINDS or len(new.definition.sources) > _MOST_SOURCES:
        raise InvalidRequest(f"A dataset is of the kind file or tabular and has at most {_MOST_SOURCES} sources.")
    digest = new.definition.digest()
    if new.name is None:
        return _save_unnamed(tx, workspace_id, who, new, digest, now_ns)
    check_name("a dataset", new.name)
    latest = _latest_row(tx, workspace_id, new.name)
    if latest is not None and not new.new_version:
        raise DatasetExists(
            f"There is already a dataset registered under the name {new.name!r}. Specify create_new_version=True to "
            "register it as a new version, or choose another name."
        )
    if latest is not None and latest.digest == digest:  # the same once more is no new version
        change = DatasetChange(new.description, None if new.tags is None else {**latest.tags, **new.tags})
        return change_dataset(tx, workspace_id, latest.dataset_id, change)
    version = latest.version + 1 if latest is not None else 1
    return _insert(tx, workspace_id, who, new, digest, version, now_ns)


def get_by_name(tx: Connection, workspace_id: str, name: str, version: int | None) -> DatasetRecord:
    if version is None:
        row = _latest_row(tx, workspace_id, name)
    else:
        row = tx.execute(_named(workspace_id, name).where(datasets.c.version == version)).first()
    if row is None:
        raise UnknownDataset(name, version, _known(tx, workspace_id, name if version else None))
    return _record(tx, row)


def get_by_id(tx: Connection, workspace_id: str, dataset_id: str) -> DatasetRecord:
    return _record(tx, _row(tx, workspace_id, dataset_id))


def list_latest(tx: Connection, workspace_id: str) -> list[DatasetRecord]:
    newest = (
        select(datasets.c.name, func.max(datasets.c.version).label("version"))
        .where(datasets.c.workspace_id == workspace_id, datasets.c.name.is_not(None))
        .group_by(datasets.c.name)
        .subquery()
    )
    both = (datasets.c.name == newest.c.name) & (datasets.c.version == newest.c.version)
    rows = tx.execute(select(datasets).join(newest, both).where(datasets.c.workspace_id == workspace_id))
    return [_of(row, latest=True) for row in sorted(rows, key=lambda row: str(row.name))]


def versions(tx: Connection, workspace_id: str, name: str) -> list[DatasetRecord]:
    rows = tx.execute(_named(workspace_id, name).order_by(datasets.c.version.desc())).all()
    if not rows:
        raise UnknownDataset(name, None, _known(tx, workspace_id, None))
    return [_of(row, latest=at == 0) for at, row in enumerate(rows)]


def change_dataset(tx: Connection, workspace_id: str, dataset_id: str, change: DatasetChange) -> DatasetRecord:
    row = _row(tx, workspace_id, dataset_id)
    given = {key: value for key, value in vars(change).items() if value is not None}
    if given:
        tx.execute(update(datasets).where(datasets.c.dataset_id == row.dataset_id).values(**given))
    return get_by_id(tx, workspace_id, dataset_id)


def unregister(tx: Connection, workspace_id: str, name: str) -> None:
    """All versions lose the name. What runs recorded of them stays."""
    versions(tx, workspace_id, name)
    here = (datasets.c.workspace_id == workspace_id) & (datasets.c.name == name)
    tx.execute(update(datasets).where(here).values(name=None, version=None))


def remove_all(tx: Connection, workspace_id: str) -> None:
    """The workspace goes, and all it knew of data with it. Files of a user's own stores stay where they are."""
    for table in (datastores, datasets, data_uses):
        tx.execute(delete(table).where(table.c.workspace_id == workspace_id))


# Lineage


def note_uses(tx: Connection, scope: Scope, uses: list[DataUse], now_ns: int) -> None:
    """What a run read or left. A later attempt's word replaces an earlier one's."""
    for use in uses:
        here = (
            (data_uses.c.workspace_id == scope.workspace_id)
            & (data_uses.c.run_id == use.run_id)
            & (data_uses.c.output == use.output)
            & (data_uses.c.name == use.name)
        )
        tx.execute(delete(data_uses).where(here))
        values = {
            "run_id": use.run_id,
            "output": use.output,
            "name": use.name,
            "dataset_id": use.dataset_id,
            "dataset_name": use.dataset_name,
            "dataset_version": use.dataset_version,
            "use": to_json(use),
            "created_ns": now_ns,
        }
        tx.execute(insert(data_uses).values(**scope.owner(), **values))


def forget_uses(tx: Connection, workspace_id: str, run_ids: Sequence[str]) -> None:
    """Of runs that are deleted."""
    here = (data_uses.c.workspace_id == workspace_id) & data_uses.c.run_id.in_(run_ids)
    tx.execute(delete(data_uses).where(here))


def uses_of_run(tx: Connection, workspace_id: str, run_id: str) -> list[DataUse]:
    here = (data_uses.c.workspace_id == workspace_id) & (data_uses.c.run_id == run_id)
    return _uses(tx, here)


def uses_of_dataset(tx: Connection, workspace_id: str, name: str, version: int | None) -> list[DataUse]:
    """Every run that read or left a dataset; of one version where it is given."""
    here = (data_uses.c.workspace_id == workspace_id) & (data_uses.c.dataset_name == name)
    if version is not None:
        here &= data_uses.c.dataset_version == version
    return _uses(tx, here)


def _uses(tx: Connection, here: Any) -> list[DataUse]:
    rows = tx.execute(select(data_uses.c.use).where(here).order_by(data_uses.c.created_ns, data_uses.c.name))
    return [from_json(DataUse, use) for use in rows.scalars()]


# Rows


def _save_unnamed(
    tx: Connection, workspace_id: str, who: str, new: NewDataset, digest: str, now_ns: int
) -> DatasetRecord:
    same = select(datasets).where(datasets.c.workspace_id == workspace_id, datasets.c.digest == digest)
    if (row := tx.execute(same.order_by(datasets.c.created_ns)).first()) is not None:
        return _record(tx, row)
    return _insert(tx, workspace_id, who, new, digest, None, now_ns)


def _insert(
    tx: Connection, workspace_id: str, who: str, new: NewDataset, digest: str, version: int | None, now_ns: int
) -> DatasetRecord:
    values = {
        "dataset_id": _dashed(new_id()),
        "workspace_id": workspace_id,
        "created_by": who,
        "name": new.name,
        "version": version,
        "definition": to_json(new.definition),
        "digest": digest,
        "description": new.description or "",
        "tags": {str(key): str(value) for key, value in (new.tags or {}).items()},
        "created_ns": now_ns,
    }
    if len(json.dumps(values["definition"])) > 4 << 20:
        raise InvalidRequest("A dataset's definition is at most 4 MB. Use globs or folders instead of single files.")
    tx.execute(insert(datasets).values(**values))
    return get_by_id(tx, workspace_id, str(values["dataset_id"]))


def _dashed(number: str) -> str:
    """As the SDK's ids look."""
    return f"{number[:8]}-{number[8:12]}-{number[12:16]}-{number[16:20]}-{number[20:]}"


def _named(workspace_id: str, name: str) -> Any:
    return select(datasets).where(datasets.c.workspace_id == workspace_id, datasets.c.name == name)


def _latest_row(tx: Connection, workspace_id: str, name: str) -> Row[Any] | None:
    found: Row[Any] | None = tx.execute(_named(workspace_id, name).order_by(datasets.c.version.desc()).limit(1)).first()
    return found


def _row(tx: Connection, workspace_id: str, dataset_id: str) -> Row[Any]:
    here = (datasets.c.workspace_id == workspace_id) & (datasets.c.dataset_id == dataset_id)
    if (row := tx.execute(select(datasets).where(here)).first()) is None:
        raise UnknownDataset(dataset_id, None, _known(tx, workspace_id, None))
    return row


def _known(tx: Connection, workspace_id: str, name: str | None) -> list[str]:
    if name is not None:
        rows = tx.execute(_named(workspace_id, name).order_by(datasets.c.version)).all()
        if rows:
            return [str(row.version) for row in rows]
    return [str(record.name) for record in list_latest(tx, workspace_id)]


def _record(tx: Connection, row: Row[Any]) -> DatasetRecord:
    latest = True
    if row.name is not None:
        newest = _latest_row(tx, row.workspace_id, row.name)
        latest = newest is None or newest.version == row.version
    return _of(row, latest=latest)


def _of(row: Row[Any], *, latest: bool) -> DatasetRecord:
    return DatasetRecord(
        dataset_id=row.dataset_id,
        workspace_id=row.workspace_id,
        definition=from_json(DatasetDefinition, row.definition),
        created_by=row.created_by,
        created_ns=row.created_ns,
        name=row.name,
        version=row.version,
        latest=latest,
        description=row.description,
        tags=row.tags,
    )
