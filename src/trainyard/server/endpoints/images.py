"""The images of 2018: a version of a service, kept before it is deployed. Its environment is built meanwhile; that
build is its creation."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.endpoints import ImageRecord, NewImage, OperationState, VersionSpec
from trainyard.contract.environments import BuildState, NewBuild
from trainyard.contract.errors import NotFound
from trainyard.contract.names import check_name
from trainyard.contract.service import API
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.endpoints import checks
from trainyard.server.endpoints.tables import images
from trainyard.server.environments import service as environments
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API + "/workspaces/{workspace_id}/images", tags=["images"])

_STATES = {
    BuildState.RUNNING: OperationState.RUNNING,
    BuildState.SUCCEEDED: OperationState.SUCCEEDED,
    BuildState.FAILED: OperationState.FAILED,
}


@router.post("")
def create(request: Request, workspace_id: str, new: NewImage) -> ImageRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    principal.require_owner("create images")
    check_name("a model", new.name)  # images follow the same rule
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        record = _create(context, tx, workspace_id, principal.name, new)
    context.wake.set()
    return record


@router.get("")
def list_all(request: Request, workspace_id: str, name: str | None = None) -> list[ImageRecord]:
    """The newest first."""
    principal_of(request).require_workspace(workspace_id)
    here = images.c.workspace_id == workspace_id
    if name is not None:
        here &= images.c.name == name
    with context_of(request).db.read() as tx:
        return [_record(tx, row) for row in tx.execute(select(images).where(here).order_by(images.c.key.desc())).all()]


@router.get("/{name}/{version}")
def get(request: Request, workspace_id: str, name: str, version: int) -> ImageRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return _record(tx, _row(tx, workspace_id, name, version))


@router.patch("/{name}/{version}")
def change(
    request: Request, workspace_id: str, name: str, version: int, wish: dict[str, dict[str, str | None]]
) -> ImageRecord:
    """`wish` may hold tags and properties, each whole."""
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        row = _row(tx, workspace_id, name, version)
        values = {key: value for key, value in wish.items() if key in ("tags", "properties")}
        if values:
            tx.execute(update(images).where(images.c.key == row.key).values(**values))
        return _record(tx, _row(tx, workspace_id, name, version))


@router.delete("/{name}/{version}")
def remove(request: Request, workspace_id: str, name: str, version: int) -> None:
    """Services made from it have their own copy and go on."""
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    principal.require_owner("delete images")
    with context.db.write() as tx:
        row = _row(tx, workspace_id, name, version)
        tx.execute(delete(images).where(images.c.key == row.key))


def _create(context: Context, tx: Connection, workspace_id: str, principal: str, new: NewImage) -> ImageRecord:
    again = (images.c.workspace_id == workspace_id) & (images.c.request == new.request_id)
    if (known := tx.execute(select(images).where(again)).first()) is not None:
        return _record(tx, known)
    spec, now = checks.checked_version(context, tx, workspace_id, new.version), context.clock()
    build_id = None
    if spec.code is not None:
        environment = spec.code.environment
        wish = NewBuild(environment.definition, spec.code.relax_pins)
        build_id = environments.ask_for_build(tx, context, workspace_id, principal, wish).build_id
    newest = select(func.max(images.c.version)).where(images.c.workspace_id == workspace_id, images.c.name == new.name)
    row = {
        "workspace_id": workspace_id,
        "created_by": principal,
        "name": new.name,
        "version": (tx.execute(newest).scalar() or 0) + 1,
        "request": new.request_id,
        "spec": to_json(spec),
        "build_id": build_id,
        "description": new.description,
        "tags": dict(new.tags),
        "properties": dict(new.properties),
        "created_ns": now,
    }
    return _record(tx, tx.execute(insert(images).values(**row).returning(*images.c)).one())


def _row(tx: Connection, workspace_id: str, name: str, version: int) -> Row[Any]:
    here = (images.c.workspace_id == workspace_id) & (images.c.name == name) & (images.c.version == version)
    if (row := tx.execute(select(images).where(here)).first()) is None:
        raise NotFound(f"ImageNotFound: no image {name}:{version} in this workspace. Image.list(workspace) shows them.")
    return row


def _record(tx: Connection, row: Row[Any]) -> ImageRecord:
    state, error = OperationState.SUCCEEDED, row.error
    if row.build_id is not None:
        build = environments.get_build(tx, row.workspace_id, row.build_id)
        state = _STATES[build.state]
        error = build.reason if build.state is BuildState.FAILED else None
    return ImageRecord(
        workspace_id=row.workspace_id,
        name=row.name,
        version=row.version,
        state=state,
        spec=from_json(VersionSpec, row.spec),
        created_by=row.created_by,
        created_ns=row.created_ns,
        build_id=row.build_id,
        error=error,
        tags=row.tags,
        properties=row.properties,
        description=row.description,
    )
