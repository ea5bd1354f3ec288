"""Lines that are thinned out for a screen."""

from __future__ import annotations

import math
import struct

import pytest

from trainyard.contract.tape import FLOAT, NAME, NO_STEP
from trainyard.server.metrics import service
from trainyard.server.metrics.chart import chart
from trainyard.server.scope import Scope

_CELL = struct.Struct("<BBHIqqd")
_INT = struct.Struct("<BBHIqqq")


@pytest.fixture
def drawn(context):
    """drawn(points as (step, time, value), …) → the chart of a metric that has them."""

    def draw(points, *asked):
        cells = _INT.pack(NAME, 0, 1, 1, 0, 0, 4) + b"\xffloss".ljust(32, b"\0")
        cells += b"".join(_CELL.pack(FLOAT, 0, 0, 1, step, time, value) for step, time, value in points)
        with context.db.write() as tx:
            service.apply_cells(tx, Scope(1, "w", "ada"), 1, "r0", 0, cells)
            return chart(tx, 1, "loss", *asked)

    return draw


def test_few_points_are_all_there(drawn) -> None:
    found = drawn([(1, 10, 0.5), (2, 20, 0.25), (4, 30, 0.125)], 100)
    assert (found.count, found.lost, found.x, found.y) == (3, 0, (1, 2, 4), (0.5, 0.25, 0.125))


def test_what_came_late_stands_where_it_belongs(drawn) -> None:
    points = [(2, 20, 2.0), (1, 10, 1.0), (3, 5, 3.0)]
    assert drawn(points, 100, "step").x == (1, 2, 3)
    assert drawn(points, 100, "step").y == (1.0, 2.0, 3.0)
    assert drawn(points, 100, "time").y == (3.0, 1.0, 2.0)
    assert drawn(points, 100, "index").x == (0, 1, 2)


def test_without_steps_a_value_stands_at_its_number(drawn) -> None:
    found = drawn([(NO_STEP, 10, 5.0), (NO_STEP, 20, 6.0)], 100)
    assert found.x == (0, 1)


def test_what_cannot_be_drawn_is_counted(drawn) -> None:
    points = [(at, at, [1.0, math.nan, math.inf, -math.inf][at % 4]) for at in range(400)]
    found = drawn(points, 50)
    assert (found.count, found.lost, len(found.y), set(found.y)) == (400, 300, 50, {1.0})


def test_many_points_keep_their_peaks_and_ends(drawn) -> None:
    values = [math.sin(at / 1000) for at in range(100_000)]
    values[31_337], values[70_000] = 9.0, -9.0
    found = drawn([(at, at, value) for at, value in enumerate(values)], 500)
    assert found.count == 100_000
    assert len(found.x) == 500
    assert (found.x[0], found.x[-1]) == (0, 99_999)
    assert (max(found.y), min(found.y)) == (9.0, -9.0)
    assert list(found.x) == sorted(found.x)
    part = drawn([(at, at, value) for at, value in enumerate(values)], 500, "step", 31_330, 31_340)
    assert (part.count, max(part.y)) == (11, 9.0)


def test_over_http(call) -> None:
    workspace = f"/api/v1/workspaces/{call('POST', '/api/v1/workspaces', {'name': 'yard'}).json['id']}"
    call("POST", f"{workspace}/runs", {"experiment": "first", "run_id": "r1"})
    cells = _INT.pack(NAME, 0, 1, 1, 0, 0, 1) + b"\xffm".ljust(32, b"\0")
    cells += b"".join(_CELL.pack(FLOAT, 0, 0, 1, at, at, float(at)) for at in range(1000))
    call("POST", f"{workspace}/runs/r1/tape?stream=t&offset=0", body=cells)
    found = call("GET", f"{workspace}/runs/r1/chart?name=m&points=100").json
    assert (found["count"], len(found["x"]), found["axis"]) == (1000, 100, "step")
    assert call("GET", f"{workspace}/runs/r1/chart?name=other").json["error"]["code"] == "not_found"
    for wrong in ("", "?name=m&x=sideways", "?name=m&points=many"):
        assert call("GET", f"{workspace}/runs/r1/chart{wrong}").status == 400
