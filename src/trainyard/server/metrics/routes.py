"""Metrics over HTTP: plain Starlette routes, since both ways can be long."""

from __future__ import annotations

import json

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trainyard.contract.errors import InvalidRequest
from trainyard.contract.frames import MAX_REPORT
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.identity.service import Principal
from trainyard.server.metrics import spool
from trainyard.server.metrics.service import apply_cells, of_system, read_series
from trainyard.server.runs.records import RunRow, lineage, run_row
from trainyard.server.scope import Scope

_JSON = "application/json"
_MAX_STREAM = 255
_NO_ATTEMPT = 0  # an interactive run has none


async def read(request: Request) -> Response:
    """Every series of the run, or the one called `name`; with system=1 those that its agents measured. NaN and
    infinities are written as Python's json does."""
    principal_of(request).require_workspace(request.path_params["workspace_id"])
    name, system = request.query_params.get("name"), request.query_params.get("system", "0") not in ("", "0")
    body = await run_in_threadpool(_read, context_of(request), *_run_of(request), name, system)
    return Response(body, media_type=_JSON)


async def drain(request: Request) -> Response:
    context, principal = context_of(request), principal_of(request)
    await run_in_threadpool(_drain, context, principal, *_run_of(request))
    return Response("null", media_type=_JSON)


async def add_tape(request: Request) -> Response:
    """Cells of a stream of an interactive run that spools elsewhere, or of a job that does not wait for its agent;
    answers how many bytes of it are here."""
    context, principal = context_of(request), principal_of(request)
    stream, given = request.query_params.get("stream", ""), request.query_params.get("offset", "")
    if not 0 < len(stream) <= _MAX_STREAM or not given.isascii() or not given.isdigit() or len(given) > 18:
        raise InvalidRequest("A tape is sent with ?stream=<name>&offset=<bytes sent before>. Add both.")
    cells = await request.body()
    if len(cells) > MAX_REPORT + (1 << 20):
        raise InvalidRequest(f"A part of a tape holds at most {MAX_REPORT} bytes. Send it in parts.")
    acked = await run_in_threadpool(_add, context, principal, *_run_of(request), stream, int(given), cells)
    return Response(str(acked), media_type=_JSON)


def _run_of(request: Request) -> tuple[str, str]:
    return request.path_params["workspace_id"], request.path_params["run_id"]


def _read(context: Context, workspace_id: str, run_id: str, name: str | None, system: bool) -> bytes:
    with context.db.read() as tx:
        row = run_row(tx, workspace_id, run_id)
    if row.spec is None and not system:  # also of a run that has ended: who did not hear of it may still log to it
        spool.drain(context, _scope_of(row))
    with context.db.read() as tx:
        series = read_series(tx, of_system(row.key) if system else row.key, name)
    return json.dumps([vars(one) for one in series]).encode()


def _drain(context: Context, principal: Principal, workspace_id: str, run_id: str) -> None:
    spool.drain(context, _scope_of(_writable(context, principal, workspace_id, run_id)))


def _add(
    context: Context, principal: Principal, workspace_id: str, run_id: str, stream: str, offset: int, cells: bytes
) -> int:
    row = _writable(context, principal, workspace_id, run_id)
    attempt = row.attempt if principal.run_key == row.key else _NO_ATTEMPT
    with context.db.write() as tx:
        return apply_cells(tx, _scope_of(row), attempt, stream, offset, cells)


def _writable(context: Context, principal: Principal, workspace_id: str, run_id: str) -> RunRow:
    principal.require_workspace(workspace_id)
    with context.db.read() as tx:
        row = run_row(tx, workspace_id, run_id)
        principal.require_run(workspace_id, lineage(tx, row))
    return row


def _scope_of(row: RunRow) -> Scope:
    return Scope(row.key, row.workspace_id, row.created_by)


ROUTES = [
    Route("/workspaces/{workspace_id}/runs/{run_id}/metrics", read, methods=["GET"]),
    Route("/workspaces/{workspace_id}/runs/{run_id}/drain", drain, methods=["POST"]),
    Route("/workspaces/{workspace_id}/runs/{run_id}/tape", add_tape, methods=["POST"]),
]
