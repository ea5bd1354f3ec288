"""Deployed services over HTTP. Scoring does not pass here: a service's front answers it at an address of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Connection
from starlette.responses import JSONResponse, Response

from trainyard.contract.endpoints import (
    NewKey,
    NewService,
    Recognised,
    ServiceChange,
    ServiceKeys,
    ServiceQuery,
    ServiceRecord,
    ServiceToken,
    Usage,
    VersionSpec,
)
from trainyard.contract.service import API
from trainyard.contract.serving import ServicePlan
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.endpoints import checks, layout, service
from trainyard.server.endpoints.fronts import Front
from trainyard.server.endpoints.keeper import is_gone
from trainyard.server.endpoints.nocode import environment_of
from trainyard.server.endpoints.records import service_row
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API + "/workspaces/{workspace_id}/services", tags=["services"])

_LONGEST_WAIT_S = 20.0
_LOOK_EVERY_S = 0.02
_HEARD_S = 5.0  # for a front to take a new key or token in


@router.post("")
def create(request: Request, workspace_id: str, new: NewService) -> ServiceRecord:
    context = _owner(request, workspace_id, "deploy services")
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        record = service.create(context, tx, workspace_id, principal_of(request).name, new)
    context.wake_services.set()
    return record


@router.post("/find")
def find(request: Request, workspace_id: str, query: ServiceQuery) -> list[ServiceRecord]:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        return service.list_services(context, tx, workspace_id, query)


@router.post("/recognise")
def recognise(request: Request, workspace_id: str, spec: VersionSpec) -> Recognised:
    """What would serve these models without code, and in what environment."""
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        record, found = checks.recognised(context, tx, workspace_id, spec)
    found = checks.versioned(context, record, found)
    return Recognised(found.kind, found.path, environment_of(record, found))


@router.get("/{name}")
def get(request: Request, workspace_id: str, name: str) -> ServiceRecord:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        return service.get(context, tx, workspace_id, name)


@router.get("/{name}/wait")
async def wait(request: Request, workspace_id: str, name: str, seen: int, timeout_s: float = 0.0) -> ServiceRecord:
    """As soon as it changed since `seen`, else after the timeout."""
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    ends = asyncio.get_running_loop().time() + min(timeout_s, _LONGEST_WAIT_S)
    while True:
        record = await run_in_threadpool(_get, context, workspace_id, name)
        if record.generation > seen or asyncio.get_running_loop().time() >= ends:
            return record
        await asyncio.sleep(_LOOK_EVERY_S)


@router.patch("/{name}")
def change(request: Request, workspace_id: str, name: str, wish: ServiceChange) -> ServiceRecord:
    context = _owner(request, workspace_id, "change services")
    with context.db.write() as tx:
        record = service.change(context, tx, workspace_id, principal_of(request).name, name, wish)
    context.wake_services.set()
    return record


@router.delete("/{name}")
async def delete(request: Request, workspace_id: str, name: str, timeout_s: float = 15.0) -> JSONResponse:
    """Its name is free at once; the answer comes when its processes are gone, or after the timeout."""
    context = _owner(request, workspace_id, "delete services")
    service_id = await run_in_threadpool(
        _write, context, lambda tx: service.delete_service(context, tx, workspace_id, name)
    )
    context.wake_services.set()
    ends = asyncio.get_running_loop().time() + min(timeout_s, _LONGEST_WAIT_S)
    gone = False
    while not gone and asyncio.get_running_loop().time() < ends:
        gone = await run_in_threadpool(_is_gone, context, service_id)
        if not gone:
            await asyncio.sleep(_LOOK_EVERY_S)
    return JSONResponse({"gone": gone})


@router.delete("/{name}/versions/{version}")
def delete_version(request: Request, workspace_id: str, name: str, version: str) -> ServiceRecord:
    context = _owner(request, workspace_id, "change services")
    with context.db.write() as tx:
        record = service.delete_version(context, tx, workspace_id, name, version)
    context.wake_services.set()
    return record


@router.get("/{name}/keys")
def keys(request: Request, workspace_id: str, name: str) -> ServiceKeys:
    context = _owner(request, workspace_id, "read keys")
    with context.db.read() as tx:
        return service.keys_of(context, tx, workspace_id, name)


@router.post("/{name}/keys")
async def set_key(request: Request, workspace_id: str, name: str, new: NewKey) -> ServiceKeys:
    """Answers when the front knows it: from then on the new key opens, and the old one does not."""
    context = _owner(request, workspace_id, "change keys")
    made: ServiceKeys = await run_in_threadpool(
        _write, context, lambda tx: service.set_key(context, tx, workspace_id, name, new)
    )
    digest = service.digest_of(made.primary if new.which.lower() == "primary" else made.secondary)
    await _heard(context, workspace_id, name, lambda plan: digest in plan.key_digests or not plan.key_digests)
    return made


@router.post("/{name}/token")
async def token(request: Request, workspace_id: str, name: str) -> ServiceToken:
    """Answers when the front knows it."""
    context = _owner(request, workspace_id, "make tokens")
    principal = principal_of(request).name
    made: ServiceToken = await run_in_threadpool(
        _write, context, lambda tx: service.new_token(context, tx, workspace_id, principal, name)
    )
    digest = service.digest_of(made.token)
    await _heard(context, workspace_id, name, lambda plan: digest in plan.token_digests)
    return made


@router.get("/{name}/log")
def log(request: Request, workspace_id: str, name: str, lines: int | None = None, offset: int = 0) -> Response:
    """Its last lines, or what it said from a byte on."""
    front = _front(request, workspace_id, name)
    body = front.read_log(offset) if lines is None else front.log_tail(lines).encode()
    return Response(body, media_type="text/plain; charset=utf-8")


@router.get("/{name}/usage")
def usage(request: Request, workspace_id: str, name: str) -> Usage:
    return _front(request, workspace_id, name).usage()


def _owner(request: Request, workspace_id: str, what: str) -> Context:
    principal = principal_of(request)
    principal.require_workspace(workspace_id)
    principal.require_owner(what)
    return context_of(request)


def _front(request: Request, workspace_id: str, name: str) -> Front:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        row = service_row(tx, workspace_id, name)
    return Front(layout.service_folder(context.settings.home, row.service_id))


def _get(context: Context, workspace_id: str, name: str) -> ServiceRecord:
    with context.db.read() as tx:
        return service.get(context, tx, workspace_id, name)


def _is_gone(context: Context, service_id: str) -> bool:
    with context.db.read() as tx:
        return is_gone(tx, service_id)


def _write(context: Context, work: Callable[[Connection], Any]) -> Any:
    with context.db.write() as tx:
        return work(tx)


async def _heard(context: Context, workspace_id: str, name: str, knows: Callable[[ServicePlan], bool]) -> None:
    context.wake_services.set()
    ends = asyncio.get_running_loop().time() + _HEARD_S
    while asyncio.get_running_loop().time() < ends:
        if await run_in_threadpool(_has_heard, context, workspace_id, name, knows):
            return
        await asyncio.sleep(_LOOK_EVERY_S)


def _has_heard(context: Context, workspace_id: str, name: str, knows: Callable[[ServicePlan], bool]) -> bool:
    with context.db.read() as tx:
        row = service_row(tx, workspace_id, name)
    front = Front(layout.service_folder(context.settings.home, row.service_id))
    plan, status = front.plan(), front.status()
    if not front.alive():
        return True  # whoever starts it gives it the new plan
    return plan is not None and status is not None and knows(plan) and status.generation >= plan.generation
