"""No credentials, no answer: on every route there is."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator, Sequence

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text
from starlette.routing import BaseRoute, Mount, Route

from trainyard.contract.runs import RunRecord
from trainyard.server.app import create_app
from trainyard.server.context import Context


def every_route(context: Context) -> list[tuple[str, str]]:
    return list(walk(create_app(context).routes, ""))


def walk(routes: Sequence[BaseRoute], below: str) -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Mount):
            yield from walk(route.routes, below + route.path)
            continue
        assert isinstance(route, Route | APIRoute)
        path = re.sub(r"\{(\w+)(:\w+)?\}", "1", below + route.path)
        yield from ((method, path) for method in sorted(route.methods or ()))


def test_the_walk_sees_all_rooms(context: Context) -> None:
    paths = {path for _, path in every_route(context)}
    for part in ("/status", "/attempts/1/arrive", "/blobs/1", "/workspaces/1/computes", "/workspaces/1/runs/1/log"):
        assert f"/api/v1{part}" in paths
    for part in ("version", "api/2.0/mlflow/runs/search"):
        assert f"/mlflow/1/workspaces/1/{part}" in paths
    assert "/openapi.json" in paths


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_every_route_answers_401_without_a_valid_token(context: Context, call, token: str | None) -> None:
    answers = {(method, path): call(method, path, token=token).status for method, path in every_route(context)}
    assert {key: status for key, status in answers.items() if status != 401} == {}
    assert len(answers) > 30


def test_a_name_that_is_not_there_is_401_too(call) -> None:
    assert call("GET", "/no/such/path", token=None).status == 401
    assert call("GET", "/no/such/path").status == 404


def test_a_web_page_cannot_reach_a_loopback_service_under_its_own_name(call) -> None:
    assert call("GET", "/api/v1/status", host="evil.example:80").status == 403
    assert call("GET", "/api/v1/status", host="localhost:4000").status == 200
    assert call("GET", "/api/v1/status", host="[::1]:4000").status == 200


def test_the_token_is_not_in_the_database(context: Context, call) -> None:
    assert call("GET", "/api/v1/status").status == 200
    with context.db.read() as tx:
        (row,) = tx.execute(text("SELECT * FROM tokens")).all()
    assert "ada" in row
    assert "owner-token-of-the-tests" not in str(row)


@pytest.fixture
def two_runs(context: Context, call) -> tuple[str, RunRecord, str, str]:
    """A workspace, a run with an attempt's token, that token, and another run of the same workspace."""
    from trainyard.server.runs.records import run_row

    workspace = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    runs = f"/api/v1/workspaces/{workspace}/runs"
    own = call("POST", runs, {"experiment": "e", "run_id": "own"}).json
    call("POST", runs, {"experiment": "e", "run_id": "other"})
    with context.db.write() as tx:
        key = run_row(tx, workspace, "own").key
        context.authenticator.grant_attempt(tx, "attempt-1", "own", key, workspace, "ada", 1)
    return runs, own, context.authenticator.attempt_token("attempt-1"), workspace


def test_an_attempts_token_writes_its_run_and_its_children_and_nothing_else(call, two_runs) -> None:
    runs, _, token, workspace = two_runs
    change = {"set_tags": {"a": "b"}}
    assert call("PATCH", f"{runs}/own", change, token=token).status == 200
    assert call("PATCH", f"{runs}/other", change, token=token).status == 403
    child = {"experiment": "e", "run_id": "child", "parent_run_id": "own"}
    assert call("POST", runs, child, token=token).status == 200
    assert call("PATCH", f"{runs}/child", change, token=token).status == 200
    assert call("POST", runs, {"experiment": "e", "run_id": "x", "parent_run_id": "other"}, token=token).status == 403
    assert call("POST", runs, {"experiment": "e", "run_id": "y"}, token=token).status == 403
    assert call("GET", f"{runs}/other", token=token).status == 200
    assert call("POST", "/api/v1/stop", token=token).status == 403
    assert call("POST", f"/api/v1/workspaces/{workspace}/computes", {"name": "big"}, token=token).status == 403
    assert call("DELETE", f"/api/v1/workspaces/{workspace}", token=token).status == 403


def test_an_attempts_token_sees_no_other_workspace(call, two_runs) -> None:
    _, _, token, workspace = two_runs
    elsewhere = call("POST", "/api/v1/workspaces", {"name": "elsewhere"}).json["id"]
    assert call("POST", f"/api/v1/workspaces/{elsewhere}/runs/find", {}, token=token).status == 403
    assert [found["id"] for found in call("GET", "/api/v1/workspaces", token=token).json] == [workspace]


def test_an_attempts_token_dies_with_the_attempt(context: Context, call, two_runs) -> None:
    runs, _, token, _ = two_runs
    assert call("GET", f"{runs}/own", token=token).status == 200
    with context.db.write() as tx:
        context.authenticator.revoke_attempt(tx, "attempt-1", 2)
    assert call("GET", f"{runs}/own", token=token).status == 401


def test_an_attempts_token_lives_on_when_its_end_could_not_be_kept(context: Context, call, two_runs) -> None:
    """Its agent says the end again; were it turned away, it would leave and the run be called dead."""
    runs, _, token, _ = two_runs
    assert call("GET", f"{runs}/own", token=token).status == 200
    with contextlib.suppress(OSError), context.db.write() as tx:
        context.authenticator.revoke_attempt(tx, "attempt-1", 2)
        raise OSError(errno.ENOSPC, "the disk is full")
    assert call("GET", f"{runs}/own", token=token).status == 200
    with context.db.write():
        pass
    assert call("GET", f"{runs}/own", token=token).status == 200


@pytest.mark.parametrize(
    ("client", "status"),
    [("0.1.0", 200), ("0.1.7", 200), ("0.0.9", 200), ("0.2.0", 426), ("1.1.0", 426), ("what", 426), (None, 200)],
)
def test_clients_of_this_version_and_the_one_before_are_understood(call, client: str | None, status: int) -> None:
    answer = call("GET", "/api/v1/workspaces", version=client)
    assert answer.status == status
    if status == 426:
        assert "does not understand clients of" in answer.json["error"]["message"]


def test_a_client_of_any_version_may_ask_for_the_status_and_stop_the_service(call) -> None:
    """Who installed another version is told to do so."""
    assert call("GET", "/api/v1/status", version="9.7.0").status == 200
    assert call("POST", "/api/v1/stop", version="9.7.0", token="wrong").status == 401


def test_a_browser_is_told_in_words_and_still_refused(http_client) -> None:
    import urllib.error
    import urllib.request

    address = f"{http_client.url}/workspaces/yard/runs/r1"
    request = urllib.request.Request(address, headers={"Accept": "text/html,*/*"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    with refused.value as answer:
        assert answer.code == 401
        assert "trainyard runs show" in answer.read().decode()
