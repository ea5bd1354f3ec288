"""Logs through a real socket, with the real client."""

from __future__ import annotations

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from trainyard.client.http import Http
from trainyard.client.runs import Runs
from trainyard.client.workspaces import Workspaces
from trainyard.contract.errors import InvalidRequest, UnknownFile, UnknownRun
from trainyard.contract.runs import NewRun
from trainyard.server.context import Context
from trainyard.server.runs.records import run_row

LOG = "azureml-logs/70_driver_log.txt"


@pytest.fixture
def workspace(http_client: Http) -> str:
    return Workspaces(http_client).create("yard").id


@pytest.fixture
def runs(http_client: Http, workspace: str) -> Runs:
    runs = Runs(http_client, workspace)
    runs.create(NewRun("exp", run_id="r1"))
    return runs


@pytest.fixture
def key(context: Context, workspace: str, runs: Runs) -> int:
    with context.db.read() as tx:
        return int(run_row(tx, workspace, "r1").key)


def test_a_log_is_read_from_any_offset(context: Context, runs: Runs, key: int) -> None:
    context.logs.append(key, 1, LOG, 0, b"caf\xe9 0123456789")
    assert runs.read_log("r1", LOG) == b"caf\xe9 0123456789"
    assert runs.read_log("r1", LOG, 5) == b"0123456789"
    assert runs.read_log("r1", LOG, 99) == b""


def test_followers_see_each_line_at_once_and_end_with_the_run(context: Context, runs: Runs, key: int) -> None:
    """The writer writes a line only after every follower has the one before it."""
    followers, lines = 20, 10
    arrived = threading.Barrier(followers + 1)

    def follow() -> bytes:
        seen = b""
        for data in runs.follow_log("r1", LOG):
            seen += data
            arrived.wait(30)
        return seen

    with ThreadPoolExecutor(followers) as pool:
        waiting = [pool.submit(follow) for _ in range(followers)]
        at = 0
        for number in range(lines):
            at = context.logs.append(key, 1, LOG, at, f"line {number}\n".encode())
            arrived.wait(30)
        runs.complete("r1")
        expected = "".join(f"line {number}\n" for number in range(lines)).encode()
        assert {future.result(30) for future in waiting} == {expected}


def test_a_follower_that_goes_away_leaves_nothing_behind(context: Context, runs: Runs, key: int) -> None:
    context.logs.append(key, 1, LOG, 0, b"first\n")
    lines = runs.follow_log("r1", LOG)
    assert next(lines) == b"first\n"
    lines.close()  # type: ignore[attr-defined]
    context.logs.append(key, 1, LOG, 6, b"second\n")
    assert runs.read_log("r1", LOG) == b"first\nsecond\n"


def test_what_is_not_there(runs: Runs) -> None:
    with pytest.raises(UnknownRun):
        runs.read_log("r2", LOG)
    with pytest.raises(UnknownFile):
        runs.read_log("r1", "other.txt")
    runs.complete("r1")
    with pytest.raises(UnknownFile):
        next(runs.follow_log("r1", "other.txt"))


@pytest.mark.parametrize("offset", ["-1", "x", "1e3", "٣", "9" * 30])
def test_odd_offsets_are_refused(http_client: Http, workspace: str, runs: Runs, offset: str) -> None:
    with pytest.raises(InvalidRequest):
        http_client.send("GET", f"/workspaces/{workspace}/runs/r1/log", query={"name": LOG, "offset": offset})


@pytest.mark.parametrize("name", ["../../etc/passwd", "", None])
def test_odd_names_are_refused(http_client: Http, workspace: str, runs: Runs, name: str | None) -> None:
    with pytest.raises(InvalidRequest):
        http_client.send("GET", f"/workspaces/{workspace}/runs/r1/log", query={"name": name})


def test_headers_come_before_the_first_line(http_client: Http, owner_token: str, workspace: str, runs: Runs) -> None:
    """A client knows that it is connected though nothing was written yet."""
    host = http_client.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    path = f"/api/v1/workspaces/{workspace}/runs/r1/log?follow=1&name=later.txt"
    connection.request("GET", path, headers={"Authorization": f"Bearer {owner_token}"})
    assert connection.getresponse().status == 200
    connection.close()
