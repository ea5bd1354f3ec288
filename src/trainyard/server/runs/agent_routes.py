"""What agents call. Plain Starlette routes: every line and metric of every run passes through here."""

from __future__ import annotations

import asyncio
import json

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trainyard.contract.attempts import Arrival
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.frames import MAX_REPORT, decode
from trainyard.server.context import context_of, principal_of
from trainyard.server.runs.reports import apply_report, orders_for, record_arrival

_LONGEST_WAIT_S = 5.0


async def arrive(request: Request) -> Response:
    """Answers when every node of the attempt has arrived, or after a few seconds with `go` False."""
    context, principal = context_of(request), principal_of(request)
    attempt_id = request.path_params["attempt_id"]
    try:
        arrival = from_json(Arrival, json.loads(await request.body()))
    except (ValueError, TypeError) as error:
        raise InvalidRequest("An arrival is a JSON object with node, host, address and pid.") from error
    ends = asyncio.get_running_loop().time() + _LONGEST_WAIT_S
    run_key, orders = await run_in_threadpool(record_arrival, context, principal, attempt_id, arrival)
    version = -1  # what others said since then counts: the first look at them does not wait
    while True:
        left = ends - asyncio.get_running_loop().time()
        if orders.go or orders.cancel or left <= 0:
            return JSONResponse(to_json(orders))
        await context.hub.changed(run_key, version, left)
        version = context.hub.version(run_key)
        orders = await run_in_threadpool(orders_for, context, attempt_id, arrival.node)


async def report(request: Request) -> Response:
    context, principal = context_of(request), principal_of(request)
    attempt_id, node = request.path_params["attempt_id"], request.path_params["node"]
    body = await request.body()
    if len(body) > MAX_REPORT + (1 << 20):
        raise InvalidRequest(f"A report holds at most {MAX_REPORT} bytes. Send it in parts.")
    frames = list(decode(body))
    answer = await run_in_threadpool(apply_report, context, principal, attempt_id, node, frames)
    return JSONResponse(to_json(answer))


ROUTES = [
    Route("/attempts/{attempt_id}/arrive", arrive, methods=["POST"]),
    Route("/attempts/{attempt_id}/nodes/{node:int}/report", report, methods=["POST"]),
]
