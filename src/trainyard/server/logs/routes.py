"""Logs over HTTP. A plain Starlette route: every follower of every run hangs on it."""

from __future__ import annotations

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from trainyard.contract.errors import InvalidRequest, UnknownFile
from trainyard.contract.names import check_file_name
from trainyard.contract.states import TERMINAL, RunState
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.logs.follow import follow, upto
from trainyard.server.runs.records import run_row, run_row_by_key

_TEXT = "application/octet-stream"  # bytes as the job wrote them: not always UTF-8, never to be shown as a page


async def read(request: Request) -> Response:
    """The log's bytes from `offset` on; with follow=1 as they come, until the run is over."""
    context = context_of(request)
    workspace_id, run_id = request.path_params["workspace_id"], request.path_params["run_id"]
    principal_of(request).require_workspace(workspace_id)
    name = check_file_name(request.query_params.get("name"))
    offset, following = _number(request, "offset"), bool(_number(request, "follow"))
    run_key, over = await run_in_threadpool(_run, context, workspace_id, run_id)
    log = await run_in_threadpool(context.logs.find, run_key, name)
    if following and not over:

        async def is_over() -> bool:
            return await run_in_threadpool(_is_over, context, run_key)

        return StreamingResponse(follow(context.logs, context.hub, run_key, name, offset, is_over), media_type=_TEXT)
    if log is None:
        raise UnknownFile(run_id, name)
    end = log.size()
    length = {"Content-Length": str(max(0, end - offset))}
    return StreamingResponse(upto(log, offset, end), media_type=_TEXT, headers=length)


def _number(request: Request, name: str) -> int:
    given = request.query_params.get(name) or "0"
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise InvalidRequest(f"{name}={given!r} is not a number from 0 up. Count bytes from the log's start.")
    return int(given)


def _run(context: Context, workspace_id: str, run_id: str) -> tuple[int, bool]:
    with context.db.read() as tx:
        row = run_row(tx, workspace_id, run_id)
        return row.key, RunState(row.state) in TERMINAL


def _is_over(context: Context, run_key: int) -> bool:
    with context.db.read() as tx:
        return RunState(run_row_by_key(tx, run_key).state) in TERMINAL


ROUTES = [
    Route("/workspaces/{workspace_id}/runs/{run_id}/log", read, methods=["GET"]),
]
