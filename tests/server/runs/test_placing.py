"""Which queued runs get nodes, and in which order."""

from __future__ import annotations

import pytest

from trainyard.contract.states import RunState
from trainyard.server.computes import service as computes
from trainyard.server.computes.machine import Machine
from trainyard.server.context import Context
from trainyard.server.runs.decide import Move
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.placing import begin_attempts
from trainyard.server.runs.records import run_row

TO_THE_QUEUE = [Move(RunState.PREPARING, "test"), Move(RunState.QUEUED, "test")]


@pytest.fixture
def workspace(call, monkeypatch: pytest.MonkeyPatch) -> str:
    """One workspace, on a machine whose `local` has eight nodes, and a cluster of two."""
    monkeypatch.setattr(computes, "this_machine", lambda: Machine(cores=2, memory_gb=8.0, gpus=()))
    workspace = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    made = call(
        "POST", f"/api/v1/workspaces/{workspace}/computes", {"name": "two", "kind": "AmlCompute", "max_nodes": 2}
    )
    assert made.status == 200, made.body
    return workspace


def queue(
    call, context: Context, workspace: str, run_id: str, nodes: int = 1, target: str = "two", **more: str
) -> None:
    spec = {"script": "train.py", "target": target, "nodes": nodes}
    answer = call(
        "POST", f"/api/v1/workspaces/{workspace}/runs", {"experiment": "e", "run_id": run_id, "spec": spec, **more}
    )
    assert answer.status == 200, answer.body
    with context.db.write() as tx:
        Writer(tx, context.authenticator, context.clock(), "test").walk(run_row(tx, workspace, run_id), TO_THE_QUEUE)


def begin(call, context: Context, workspace: str) -> list[str]:
    """The runs that have got their nodes, oldest first."""
    with context.db.write() as tx:
        begin_attempts(tx, context)
    found = call(
        "POST", f"/api/v1/workspaces/{workspace}/runs/find", {"states": ["Starting"], "include_children": True}
    )
    return [run["run_id"] for run in reversed(found.json)]


def test_first_come_first_served(call, context: Context, workspace: str) -> None:
    for run_id in ("a", "b", "c"):
        queue(call, context, workspace, run_id)
    assert begin(call, context, workspace) == ["a", "b"]


def test_a_run_that_needs_many_nodes_is_not_overtaken(call, context: Context, workspace: str) -> None:
    for run_id, nodes in (("a", 1), ("both", 2), ("c", 1)):
        queue(call, context, workspace, run_id, nodes)
    assert begin(call, context, workspace) == ["a"]


def test_one_target_does_not_hold_up_another(call, context: Context, workspace: str) -> None:
    queue(call, context, workspace, "a")
    queue(call, context, workspace, "both", 2)
    queue(call, context, workspace, "here", target="local")
    assert begin(call, context, workspace) == ["a", "here"]


def test_a_child_never_waits_for_its_waiting_parent_however_many_are_before_it(
    call, context: Context, workspace: str
) -> None:
    queue(call, context, workspace, "parent", 8, target="local")
    assert begin(call, context, workspace) == ["parent"]
    for at in range(40):
        queue(call, context, workspace, f"other-{at}", target="local")
    queue(call, context, workspace, "child", target="local", parent_run_id="parent")
    assert begin(call, context, workspace) == ["parent", "child"]
