"""Environments over HTTP."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response

from trainyard.contract.environments import BUILD_ENDS, BuildRecord, EnvironmentRecord, NewBuild
from trainyard.contract.service import API
from trainyard.environments.store import Store
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.environments import service
from trainyard.server.environments.service import NewEnvironment, NewLabels
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API + "/workspaces/{workspace_id}", tags=["environments"])

_LONGEST_WAIT_S = 20.0
_LOOK_EVERY_S = 0.05


@router.post("/environments")
def register(request: Request, workspace_id: str, new: NewEnvironment) -> EnvironmentRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        return service.register(tx, context, workspace_id, principal.name, new)


@router.get("/environments")
def list_all(request: Request, workspace_id: str) -> list[EnvironmentRecord]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.list_latest(tx, workspace_id)


@router.get("/environments/{name}")
def get(request: Request, workspace_id: str, name: str, version: str | None = None) -> EnvironmentRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get(tx, workspace_id, name, service.check_version(version))


@router.get("/environments/{name}/versions")
def versions(request: Request, workspace_id: str, name: str) -> list[EnvironmentRecord]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.versions(tx, workspace_id, name)


@router.post("/environments/{name}/versions/{version}/labels")
def label(request: Request, workspace_id: str, name: str, version: str, new: NewLabels) -> EnvironmentRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    checked = service.check_version(version) or version
    with context.db.write() as tx:
        return service.label(tx, workspace_id, name, checked, new.labels)


@router.post("/environment-builds")
def build(request: Request, workspace_id: str, new: NewBuild) -> BuildRecord:
    """Writes the wish; the reconciler starts the builder."""
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        record = service.ask_for_build(tx, context, workspace_id, principal.name, new)
    context.wake.set()
    return record


@router.get("/environment-builds/{build_id}")
async def build_status(request: Request, workspace_id: str, build_id: str, timeout_s: float = 0.0) -> BuildRecord:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    ends = asyncio.get_running_loop().time() + min(timeout_s, _LONGEST_WAIT_S)
    while True:
        record = await run_in_threadpool(_build, context, workspace_id, build_id)
        if record.state in BUILD_ENDS or asyncio.get_running_loop().time() >= ends:
            return record
        await asyncio.sleep(_LOOK_EVERY_S)


@router.get("/environment-builds/{build_id}/log")
def build_log(request: Request, workspace_id: str, build_id: str, offset: int = 0) -> Response:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    record = _build(context, workspace_id, build_id)
    data = b""
    if record.fingerprint is not None:
        data = Store(context.settings.home).read_log(record.fingerprint, offset)
    return Response(data, media_type="text/plain; charset=utf-8")


def _build(context: Context, workspace_id: str, build_id: str) -> BuildRecord:
    with context.db.read() as tx:
        return service.get_build(tx, workspace_id, build_id)
