"""Compute targets over the application's routes."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.server.computes import service as computes
from trainyard.server.context import Context


@pytest.fixture
def workspace(call: Any) -> str:
    found: str = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    return found


@pytest.fixture
def path(workspace: str) -> str:
    return f"/api/v1/workspaces/{workspace}/computes"


def test_the_life_of_a_target(call: Any, path: str) -> None:
    made = call("POST", path, {"name": "cpu-cluster", "vm_size": "STANDARD_D1_V2", "max_nodes": "4", "min_nodes": 1})
    assert (made.status, made.json["max_nodes"], made.json["shape"]["cores"]) == (200, 4, 1)
    assert [one["name"] for one in call("GET", path).json] == ["cpu-cluster"]
    assert call("PATCH", f"{path}/cpu-cluster", {"min_nodes": 2}).json["min_nodes"] == 2
    status = call("GET", f"{path}/cpu-cluster/status").json
    assert [node["state"] for node in status["nodes"]] == ["idle", "idle"]
    assert call("DELETE", f"{path}/cpu-cluster").status == 200
    gone = call("GET", f"{path}/cpu-cluster")
    assert (gone.status, gone.json["error"]["code"]) == (404, "compute.unknown")


@pytest.mark.parametrize(
    "new",
    [
        {"name": "local"},
        {"name": "x/y"},
        {"name": "cluster", "max_nodes": "many"},
        {"name": "cluster", "priority": "spot"},
        {"name": "cluster", "vm_size": "HUGE"},
        {},
    ],
)
def test_odd_requests_are_refused(call: Any, path: str, new: dict[str, Any]) -> None:
    answer = call("POST", path, new)
    assert answer.status == 400
    assert answer.json["error"]["code"].startswith("request.")


def test_a_target_of_no_workspace(call: Any) -> None:
    assert (
        call("POST", "/api/v1/workspaces/none/computes", {"name": "cluster"}).json["error"]["code"]
        == "workspace.unknown"
    )


def test_a_target_with_queued_runs_stays(call: Any, workspace: str, path: str) -> None:
    call("POST", path, {"name": "cluster"})
    new = {"experiment": "exp", "run_id": "r1", "spec": {"script": "train.py", "target": "cluster"}}
    assert call("POST", f"/api/v1/workspaces/{workspace}/runs", new).status == 200
    refused = call("DELETE", f"{path}/cluster")
    assert (refused.status, refused.json["error"]["code"]) == (409, "conflict")
    assert "r1" in refused.json["error"]["message"]


def test_preempting(context: Context, call: Any, workspace: str, path: str) -> None:
    call("POST", path, {"name": "cluster"})
    assert call("POST", f"{path}/cluster/preempt").json["error"]["code"] == "request.invalid"
    call("POST", path, {"name": "cheap", "priority": "lowpriority"})
    assert call("POST", f"{path}/cheap/preempt").status == 404
    with context.db.write() as tx:
        (node,) = computes.allocate(tx, workspace, "cheap", "no-such-attempt", "r", 1, False, context.clock()) or ()
    assert call("POST", f"{path}/cheap/preempt?node_id={node.node_id}").json == []
    assert call("GET", f"{path}/cheap/status").json["nodes"][0]["state"] == "preempted"


def test_a_job_may_look_and_not_touch(context: Context, call: Any, workspace: str, path: str) -> None:
    call("POST", path, {"name": "cluster"})
    with context.db.write() as tx:
        context.authenticator.grant_attempt(tx, "attempt", "r1", 1, workspace, "ada", 1)
    token = context.authenticator.attempt_token("attempt")
    assert call("GET", f"{path}/cluster", token=token).status == 200
    assert call("DELETE", f"{path}/cluster", token=token).status == 403
    assert call("POST", path, {"name": "mine"}, token=token).status == 403
