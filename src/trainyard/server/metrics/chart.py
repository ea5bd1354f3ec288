"""One metric as a line on a screen: as many points as fit there, chosen so that the line looks the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trainyard.contract.codec import to_json
from trainyard.contract.errors import InvalidRequest, NotFound
from trainyard.contract.metrics import AXES, MetricChart
from trainyard.contract.states import TERMINAL, RunState
from trainyard.contract.tape import NO_STEP
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.metrics import spool
from trainyard.server.metrics.chunks import Columns, numbers
from trainyard.server.metrics.service import columns_of
from trainyard.server.runs.records import run_row
from trainyard.server.scope import Scope

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_POINTS = 20_000
_FEWEST = 10


def chart(
    tx: Connection,
    run_key: int,
    name: str,
    points: int,
    axis: str = "step",
    low: int | None = None,
    high: int | None = None,
) -> MetricChart | None:
    """None: there is no such metric. `low` and `high` cut out a part of the x axis."""
    columns = columns_of(tx, run_key, name)
    if columns is None:
        return None
    x, y = _line(columns, axis)
    if low is not None or high is not None:
        inside = (x >= (x.min() if low is None else low)) & (x <= (x.max() if high is None else high))
        x, y = x[inside], y[inside]
    finite = np.isfinite(y)
    total, lost = len(y), int(len(y) - finite.sum())
    if lost:
        x, y = x[finite], y[finite]
    picked = _picked(x, y, points)
    return MetricChart(name, axis, total, lost, tuple(x[picked].tolist()), tuple(y[picked].tolist()))


async def read(request: Request) -> Response:
    """?name=NAME&points=1000&x=step|time|index&from=&to="""
    principal_of(request).require_workspace(request.path_params["workspace_id"])
    given = request.query_params
    name, axis = given.get("name", ""), given.get("x", "step")
    if not name or axis not in AXES:
        raise InvalidRequest(f"A chart is asked for with ?name=METRIC&points=1000&x={'|'.join(AXES)}. Add them.")
    points = max(_FEWEST, min(_number(given.get("points")) or 1000, MOST_POINTS))
    asked = (name, points, axis, _number(given.get("from")), _number(given.get("to")))
    where = (request.path_params["workspace_id"], request.path_params["run_id"])
    return Response(await run_in_threadpool(_read, context_of(request), *where, asked), media_type="application/json")


def _read(context: Context, workspace_id: str, run_id: str, asked: tuple[Any, ...]) -> bytes:
    with context.db.read() as tx:
        row = run_row(tx, workspace_id, run_id)
    if row.spec is None and RunState(row.state) not in TERMINAL:
        spool.drain(context, Scope(row.key, row.workspace_id, row.created_by))
    with context.db.read() as tx:
        found = chart(tx, row.key, *asked)
    if found is None:
        raise NotFound(f"Run {run_id} has no metric {asked[0]!r}. `trainyard runs show {run_id}` lists those it has.")
    return json.dumps(to_json(found)).encode()


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(float(text))
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(f"{text!r} is not a number.") from error


def _line(columns: Columns, axis: str) -> tuple[Ints, Numbers]:
    """Where a value stands and what it is, from left to right. A value without a step stands at its number."""
    order = np.argsort(columns.times, kind="stable") if _falls(columns.times) else None
    x = columns.times if axis == "time" else columns.steps
    y = numbers(columns)
    if order is not None:
        x, y = x[order], y[order]
    if axis == "index":
        return np.arange(len(y)), y
    if axis == "step":
        bare = x == NO_STEP
        if bool(bare.any()):
            x = np.where(bare, np.arange(len(y)), x)
    if _falls(x):
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    return x, y


def _falls(values: Ints) -> bool:
    return bool((values[1:] < values[:-1]).any())


def _picked(x: Ints, y: Numbers, points: int) -> Any:
    if len(y) <= points:
        return slice(None)
    from tsdownsample import MinMaxLTTBDownsampler

    # times are too large for a float's precision: what counts is the distance
    thinner: Any = MinMaxLTTBDownsampler
    return thinner().downsample(np.ascontiguousarray(x - x[0]), np.ascontiguousarray(y), n_out=points)


ROUTES = [Route("/workspaces/{workspace_id}/runs/{run_id}/chart", read, methods=["GET"])]
