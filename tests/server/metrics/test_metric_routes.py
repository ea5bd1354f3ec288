"""Metrics over the application's routes."""

from __future__ import annotations

import math
import os
from typing import Any

import pytest

from trainyard.contract.tape import CELL, TapeWriter
from trainyard.server.context import Context


@pytest.fixture
def run(call: Any) -> str:
    """The path of an interactive run that is open."""
    workspace = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    path = f"/api/v1/workspaces/{workspace}/runs"
    assert call("POST", path, {"experiment": "exp", "run_id": "r1"}).status == 200
    return f"{path}/r1"


def test_what_a_run_spooled_is_there_when_it_is_read(context: Context, call: Any, run: str) -> None:
    tape = TapeWriter(os.path.join(call("GET", run).json["spool"], "1.tape"))
    tape.values("odd", [1, 2.5, True, None, "text", math.nan, math.inf])
    tape.number("loss", 0.5, 3)
    tape.json("row", '{"row": {"a": 1}}')
    found = {series["name"]: series for series in call("GET", f"{run}/metrics").json}
    assert found["odd"]["values"][:5] == [1, 2.5, True, None, "text"]
    assert math.isnan(found["odd"]["values"][5])
    assert found["odd"]["values"][6] == math.inf
    assert (found["loss"]["values"], found["loss"]["steps"]) == ([0.5], [3])
    assert found["row"]["values"] == [{"row": {"a": 1}}]
    assert [series["name"] for series in call("GET", f"{run}/metrics?name=loss").json] == ["loss"]
    assert call("GET", f"{run}/metrics?name=none").json == []


def test_a_tape_sent_twice_counts_once(call: Any, run: str, tmp_path: Any) -> None:
    tape = TapeWriter(str(tmp_path / "tape"))
    tape.number("loss", 1.0)
    tape.number("loss", 2.0)
    data = (tmp_path / "tape").read_bytes()
    for _ in range(2):
        assert call("POST", f"{run}/tape?stream=host-1&offset=0", body=data[: 3 * CELL]).json == 3 * CELL
    assert call("POST", f"{run}/tape?stream=host-1&offset={4 * CELL}", body=data).json == 3 * CELL
    assert call("POST", f"{run}/tape?stream=host-1&offset=0", body=data).json == 4 * CELL
    assert call("GET", f"{run}/metrics").json[0]["values"] == [1.0, 2.0]


@pytest.mark.parametrize("query", ["", "?stream=s", "?offset=0", "?stream=s&offset=-1", "?stream=s&offset=x"])
def test_a_tape_needs_its_stream_and_offset(call: Any, run: str, query: str) -> None:
    answer = call("POST", f"{run}/tape{query}", body=b"\0" * CELL)
    assert (answer.status, answer.json["error"]["code"]) == (400, "request.invalid")


def test_draining_answers_when_everything_is_in(call: Any, run: str) -> None:
    tape = TapeWriter(os.path.join(call("GET", run).json["spool"], "1.tape"))
    tape.number("loss", 0.5)
    assert call("POST", f"{run}/drain").json is None
    assert call("POST", f"{run}/complete").status == 200
    assert call("GET", f"{run}/metrics").json[0]["values"] == [0.5]


def test_a_run_that_is_not_there(call: Any, run: str) -> None:
    for method, path in (("GET", "metrics"), ("POST", "drain"), ("POST", "tape?stream=s&offset=0")):
        assert call(method, run.replace("r1", "r2") + f"/{path}").json["error"]["code"] == "run.unknown"
