"""Runs over HTTP, as users see them."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Connection

from trainyard.contract.runs import NewRun, RunChange, RunError, RunEvent, RunFile, RunQuery, RunRecord
from trainyard.contract.service import API
from trainyard.contract.states import RunState
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.metrics import spool
from trainyard.server.runs import service
from trainyard.server.runs.files import add_files, list_files
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow, lineage, run_row, to_records
from trainyard.server.scope import Scope

router = APIRouter(prefix=API + "/workspaces/{workspace_id}/runs", tags=["runs"])

_LONGEST_WAIT_S = 20.0


@router.post("")
def create(request: Request, workspace_id: str, new: NewRun) -> RunRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        record = service.create_run(tx, context, principal, workspace_id, new)
        if record.spool is not None:
            spool.prepare(record.spool)
    context.wake.set()
    return record


@router.post("/find")
def find(request: Request, workspace_id: str, query: RunQuery) -> list[RunRecord]:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        return service.find_runs(tx, context, workspace_id, query)


@router.get("/{run_id}")
def get(request: Request, workspace_id: str, run_id: str) -> RunRecord:
    principal_of(request).require_workspace(workspace_id)
    return _record(context_of(request), workspace_id, run_id)


@router.get("/{run_id}/wait")
async def wait(request: Request, workspace_id: str, run_id: str, seen: int, timeout_s: float = 20.0) -> RunRecord:
    """Answers as soon as the run's history is longer than `seen`."""
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    ends = asyncio.get_running_loop().time() + min(timeout_s, _LONGEST_WAIT_S)
    key = await run_in_threadpool(_key, context, workspace_id, run_id)
    while True:
        version = context.hub.version(key)
        events = await run_in_threadpool(_events, context, key)
        left = ends - asyncio.get_running_loop().time()
        if events > seen or left <= 0:
            return await run_in_threadpool(_record, context, workspace_id, run_id)
        await context.hub.changed(key, version, left)


@router.patch("/{run_id}")
def change(request: Request, workspace_id: str, run_id: str, change: RunChange) -> RunRecord:
    context = context_of(request)
    with context.db.write() as tx:
        service.change_run(tx, _writable(tx, request, workspace_id, run_id), change)
    return _record(context, workspace_id, run_id)


@router.post("/{run_id}/start")
def start(request: Request, workspace_id: str, run_id: str) -> RunRecord:
    context = context_of(request)
    with context.db.write() as tx:
        service.start_run(_writer(tx, request), _writable(tx, request, workspace_id, run_id))
    return _record(context, workspace_id, run_id)


@router.post("/{run_id}/complete")
def complete(request: Request, workspace_id: str, run_id: str) -> RunRecord:
    return _end(request, workspace_id, run_id, RunState.COMPLETED, "Completed by its owner", None)


@router.post("/{run_id}/fail")
def fail(request: Request, workspace_id: str, run_id: str, error: RunError) -> RunRecord:
    return _end(request, workspace_id, run_id, RunState.FAILED, error.message, error)


@router.post("/{run_id}/cancel")
def cancel(request: Request, workspace_id: str, run_id: str) -> RunRecord:
    context = context_of(request)
    with context.db.write() as tx:
        changed = service.cancel_run(_writer(tx, request), _writable(tx, request, workspace_id, run_id))
    for key in changed:
        context.hub.notify(key)
    context.wake.set()
    return _record(context, workspace_id, run_id)


@router.get("/{run_id}/events")
def events(request: Request, workspace_id: str, run_id: str) -> list[RunEvent]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.run_history(tx, run_row(tx, workspace_id, run_id).key)


@router.get("/{run_id}/files")
def files(request: Request, workspace_id: str, run_id: str) -> list[RunFile]:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        return list_files(tx, context, run_row(tx, workspace_id, run_id).key)


@router.post("/{run_id}/files")
def name_files(request: Request, workspace_id: str, run_id: str, files: list[RunFile]) -> None:
    context = context_of(request)
    with context.db.write() as tx:
        row = _writable(tx, request, workspace_id, run_id)
        add_files(tx, context, Scope(row.key, row.workspace_id, row.created_by), files)


def _end(
    request: Request, workspace_id: str, run_id: str, to: RunState, reason: str, error: RunError | None
) -> RunRecord:
    """What the run has spooled is taken in first: whoever sees it ended sees all of it."""
    context = context_of(request)
    with context.db.read() as tx:
        row = _writable(tx, request, workspace_id, run_id)
    spool.drain(context, Scope(row.key, row.workspace_id, row.created_by))
    with context.db.write() as tx:
        service.end_run(_writer(tx, request), run_row(tx, workspace_id, run_id), to, reason, error)
    context.hub.notify(row.key)
    context.wake.set()
    return _record(context, workspace_id, run_id)


def _writer(tx: Connection, request: Request) -> Writer:
    context = context_of(request)
    return Writer(tx, context.authenticator, context.clock(), principal_of(request).name)


def _writable(tx: Connection, request: Request, workspace_id: str, run_id: str) -> RunRow:
    row = run_row(tx, workspace_id, run_id)
    principal_of(request).require_run(workspace_id, lineage(tx, row))
    return row


def _record(context: Context, workspace_id: str, run_id: str) -> RunRecord:
    with context.db.read() as tx:
        row = run_row(tx, workspace_id, run_id)
        return to_records(tx, [row], context.settings.folder("spool"), whole=True)[0]


def _key(context: Context, workspace_id: str, run_id: str) -> int:
    with context.db.read() as tx:
        key: int = run_row(tx, workspace_id, run_id).key
        return key


def _events(context: Context, key: int) -> int:
    with context.db.read() as tx:
        return service.events_of(tx, key)
