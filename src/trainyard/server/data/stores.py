"""Datastores: registered, found, and opened as depots. Only here are credentials put in and taken out."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from trainyard.blobs.depots.base import Depot
from trainyard.blobs.depots.folder import FolderDepot
from trainyard.contract.data import (
    DEFAULT_DATASTORE,
    FILE_DATASTORE,
    DatastoreKind,
    DatastoreRecord,
    NewDatastore,
)
from trainyard.contract.errors import Conflict, DataRefused, DatastoreExists, UnknownDatastore
from trainyard.contract.names import check_name
from trainyard.server.context import Context
from trainyard.server.data.tables import datastores
from trainyard.server.secrets import Secrets
from trainyard.server.workspaces import service as workspaces

_BUILT_IN = {DEFAULT_DATASTORE: DatastoreKind.BLOB, FILE_DATASTORE: DatastoreKind.FILE_SHARE}


def check(context: Context, new: NewDatastore) -> None:
    """Whether it can be registered so, asked of the store itself where it can be known. No transaction is open."""
    check_name("a datastore", new.name)
    if new.name in _BUILT_IN:
        raise Conflict(f"{new.name!r} is the workspace's own datastore. Choose another name.")
    if new.kind is DatastoreKind.SQL:
        from trainyard.server.data import query

        query.check(new)
        return
    depot = open_depot(context, new.name, new.kind, new.location, new.secrets)
    if new.validate or new.create:
        depot.check(create=new.create)


def register(tx: Connection, context: Context, workspace_id: str, who: str, new: NewDatastore) -> DatastoreRecord:
    here = (datastores.c.workspace_id == workspace_id) & (datastores.c.name == new.name)
    known = tx.execute(select(datastores).where(here)).first()
    if known is not None and not new.overwrite:
        raise DatastoreExists(f"Datastore {new.name!r} exists already. Pass overwrite=True to replace it.")
    tx.execute(delete(datastores).where(here))
    values = {
        "workspace_id": workspace_id,
        "name": new.name,
        "created_by": who,
        "kind": new.kind.value,
        "location": new.location,
        "sealed": _sealed(context, new.secrets),
        "is_default": bool(known is not None and known.is_default),
        "created_ns": context.clock(),
    }
    tx.execute(insert(datastores).values(**values))
    return get(tx, context, workspace_id, new.name)


def get(tx: Connection, context: Context, workspace_id: str, name: str) -> DatastoreRecord:
    return _record(context, row_of(tx, workspace_id, name), default=_default_name(tx, workspace_id))


def list_all(tx: Connection, context: Context, workspace_id: str) -> list[DatastoreRecord]:
    registered = (datastores.c.workspace_id == workspace_id) & datastores.c.name.not_in(_BUILT_IN)
    rows = tx.execute(select(datastores).where(registered).order_by(datastores.c.name)).all()
    own = [_built_in(workspace_id, name) for name in _BUILT_IN]
    default_name = _default_name(tx, workspace_id)
    return [_record(context, row, default=default_name) for row in [*own, *rows]]


def default(tx: Connection, context: Context, workspace_id: str) -> DatastoreRecord:
    return get(tx, context, workspace_id, _default_name(tx, workspace_id))


def set_default(tx: Connection, context: Context, workspace_id: str, who: str, name: str) -> None:
    row = row_of(tx, workspace_id, name)
    mine = datastores.c.workspace_id == workspace_id
    tx.execute(update(datastores).where(mine).values(is_default=False))
    tx.execute(delete(datastores).where(mine, datastores.c.name.in_(_BUILT_IN)))
    if name not in _BUILT_IN:
        tx.execute(update(datastores).where(mine, datastores.c.name == name).values(is_default=True))
    elif name != DEFAULT_DATASTORE:  # one of our own has a row only while it is the default in the other's place
        tx.execute(
            insert(datastores).values(
                workspace_id=workspace_id,
                name=name,
                created_by=who,
                kind=row.kind,
                location={},
                is_default=True,
                created_ns=context.clock(),
            )
        )


def unregister(tx: Connection, workspace_id: str, name: str) -> None:
    """The row and its credentials go; the files are the user's and stay."""
    if name in _BUILT_IN:
        raise Conflict(f"{name!r} is the workspace's own datastore and stays.")
    row_of(tx, workspace_id, name)
    tx.execute(delete(datastores).where(datastores.c.workspace_id == workspace_id, datastores.c.name == name))


def row_of(tx: Connection, workspace_id: str, name: str) -> Row[Any] | Any:
    if name in _BUILT_IN:
        workspaces.get_workspace(tx, workspace_id)  # its id names a folder
        return _built_in(workspace_id, name)
    here = (datastores.c.workspace_id == workspace_id) & (datastores.c.name == name)
    if (row := tx.execute(select(datastores).where(here)).first()) is None:
        known = tx.execute(select(datastores.c.name).where(datastores.c.workspace_id == workspace_id)).scalars()
        raise UnknownDatastore(name, sorted({*_BUILT_IN, *known}))
    return row


def depot_of(context: Context, workspace_id: str, name: str) -> Depot:
    """The datastore as a depot, with its credentials."""
    with context.db.read() as tx:
        row = row_of(tx, workspace_id, name)
    if row.name in _BUILT_IN:
        return FolderDepot(_own_folder(context, workspace_id, row.name), confined=True)
    kind = DatastoreKind(row.kind)
    return open_depot(context, name, kind, row.location, credentials(context, row.sealed))


def open_depot(
    context: Context, name: str, kind: DatastoreKind, location: dict[str, Any], secrets: dict[str, str]
) -> Depot:
    if kind is DatastoreKind.FOLDER:
        path = str(location.get("path", ""))
        if not os.path.isabs(path):
            raise DataRefused(f"The folder of datastore {name!r} must be an absolute path, not {path!r}.")
        return FolderDepot(path, confined=True)
    if kind is DatastoreKind.SQL:
        raise DataRefused(f"Datastore {name!r} is a database: it has tables, not files. Use from_sql_query.")
    private = context.settings.allow_private_addresses
    if kind is DatastoreKind.SFTP:
        from trainyard.server.data.sftp import sftp_depot

        return sftp_depot(location, secrets, context.settings.folder("ssh"), private=private)
    from trainyard.blobs.depots.objects import object_depot

    return object_depot(kind, location, secrets, private=private)


def credentials(context: Context, sealed: str | None) -> dict[str, str]:
    """What a datastore was registered with."""
    if sealed is None:
        return {}
    found: dict[str, str] = json.loads(Secrets.of_home(context.settings).decrypt(sealed))
    return found


def _sealed(context: Context, given: dict[str, str]) -> str | None:
    return Secrets.of_home(context.settings).encrypt(json.dumps(given)) if given else None


class _BuiltIn:
    """A row of the workspace's own datastores, which nobody registers."""

    def __init__(self, workspace_id: str, name: str) -> None:
        self.workspace_id, self.name, self.kind = workspace_id, name, _BUILT_IN[name].value
        self.location: dict[str, Any] = {"account_name": "trainyard", "container_name": f"azureml-{name}"}
        self.sealed, self.created_by, self.created_ns = None, "trainyard", 0


def _built_in(workspace_id: str, name: str) -> _BuiltIn:
    return _BuiltIn(workspace_id, name)


def _default_name(tx: Connection, workspace_id: str) -> str:
    mine = (datastores.c.workspace_id == workspace_id) & datastores.c.is_default.is_(True)
    return str(tx.execute(select(datastores.c.name).where(mine)).scalar() or DEFAULT_DATASTORE)


def drop_folders(context: Context, workspace_id: str) -> None:
    """The files of the workspace's own datastores, once the workspace is gone."""
    shutil.rmtree(os.path.dirname(_own_folder(context, workspace_id, DEFAULT_DATASTORE)), ignore_errors=True)


def _record(context: Context, row: Any, *, default: str) -> DatastoreRecord:
    built_in = row.name in _BUILT_IN
    path = _own_folder(context, row.workspace_id, row.name) if built_in else row.location.get("path")
    if built_in:
        os.makedirs(str(path), mode=0o700, exist_ok=True)
    return DatastoreRecord(
        workspace_id=row.workspace_id,
        name=row.name,
        kind=DatastoreKind(row.kind),
        created_by=row.created_by,
        created_ns=row.created_ns,
        location=row.location,
        path=path if built_in or row.kind == DatastoreKind.FOLDER.value else None,
        is_default=row.name == default,
        has_credentials=row.sealed is not None,
    )


def _own_folder(context: Context, workspace_id: str, name: str) -> str:
    """Both are ours: an id that we made, and one of two names."""
    assert name in _BUILT_IN, "a user's name is never a path"
    return os.path.join(context.settings.folder("datastores"), workspace_id, name)
