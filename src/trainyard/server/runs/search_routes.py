"""Looking for runs over HTTP. Plain routes: a page is on its way to a table that somebody looks at."""

from __future__ import annotations

import json

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.search import RunSearch
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.runs.params import params_of
from trainyard.server.runs.records import run_row
from trainyard.server.runs.search import search_runs

_JSON = "application/json"


async def search(request: Request) -> Response:
    """A RunSearch in, a SearchPage out. NaN and infinities are written as Python's json does."""
    principal_of(request).require_workspace(request.path_params["workspace_id"])
    try:
        asked = from_json(RunSearch, json.loads(await request.body() or b"{}"))
        _check(asked)
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidRequest(f"This is no search: {error}. It looks like {_EXAMPLE}.") from error
    body = await run_in_threadpool(_search, context_of(request), request.path_params["workspace_id"], asked)
    return Response(body, media_type=_JSON)


async def params(request: Request) -> Response:
    workspace_id, run_id = request.path_params["workspace_id"], request.path_params["run_id"]
    principal_of(request).require_workspace(workspace_id)
    return Response(await run_in_threadpool(_params, context_of(request), workspace_id, run_id), media_type=_JSON)


_EXAMPLE = '{"query": "metrics.loss < 0.1", "order_by": ["metrics.loss asc"], "limit": 50}'


def _check(asked: RunSearch) -> None:
    texts = [asked.query, *asked.order_by, *asked.experiments, *(asked.metrics or ()), asked.page or ""]
    if not all(isinstance(text, str) for text in texts) or not isinstance(asked.limit, int):
        raise ValueError("texts are texts, and the limit is a whole number")


def _search(context: Context, workspace_id: str, asked: RunSearch) -> bytes:
    with context.db.read() as tx:
        page = search_runs(tx, context, workspace_id, asked)
    return json.dumps(to_json(page)).encode()


def _params(context: Context, workspace_id: str, run_id: str) -> bytes:
    with context.db.read() as tx:
        key = run_row(tx, workspace_id, run_id).key
        found = params_of(tx, [key])[key]
    return json.dumps(to_json(found)).encode()


ROUTES = [
    Route("/workspaces/{workspace_id}/search", search, methods=["POST"]),
    Route("/workspaces/{workspace_id}/runs/{run_id}/params", params, methods=["GET"]),
]
