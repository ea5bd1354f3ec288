"""What users do with runs, over the application's own routes."""

from __future__ import annotations

import pytest

from trainyard.server.context import Context


@pytest.fixture
def runs(call) -> str:
    workspace = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    return f"/api/v1/workspaces/{workspace}/runs"


def open_run(call, runs: str, run_id: str, **more: object) -> dict:
    answer = call("POST", runs, {"experiment": "first", "run_id": run_id, **more})
    assert answer.status == 200, answer.body
    return answer.json


def test_an_interactive_run_opens_and_ends(call, runs: str) -> None:
    record = open_run(call, runs, "r1")
    assert (record["state"], record["number"], record["created_by"]) == ("Running", 1, "ada")
    assert call("POST", f"{runs}/r1/complete").json["state"] == "Completed"
    history = call("GET", f"{runs}/r1/events").json
    assert [event["state"] for event in history] == ["NotStarted", "Running", "Completed"]
    assert all(event["reason"] for event in history)


def test_a_terminal_state_never_changes(call, runs: str) -> None:
    open_run(call, runs, "r1")
    call("POST", f"{runs}/r1/complete")
    assert call("POST", f"{runs}/r1/complete").status == 200
    failed = call("POST", f"{runs}/r1/fail", {"code": "x", "message": "late"})
    assert (failed.status, failed.json["error"]["code"]) == (409, "run.ended")
    assert call("POST", f"{runs}/r1/cancel").json["state"] == "Completed"


def test_the_same_request_twice_is_one_run_and_another_request_a_conflict(call, runs: str) -> None:
    first = open_run(call, runs, "r1", tags={"a": "1"})
    assert open_run(call, runs, "r1", tags={"a": "1"}) == first
    other = call("POST", runs, {"experiment": "first", "run_id": "r1", "tags": {"a": "2"}})
    assert (other.status, other.json["error"]["code"]) == (409, "conflict.exists")


@pytest.mark.parametrize(
    "more",
    [
        {"spec": {"script": "a.py", "arguments": ["--name", "caf\udce9"]}},
        {"spec": {"script": "a.py", "variables": {"NAME": "caf\udce9"}}},
        {"tags": {"caf\udce9": "1"}},
        {"display_name": "caf\udce9"},
    ],
    ids=lambda more: "-".join(more),
)
def test_bytes_that_are_no_text_are_refused_and_nothing_of_them_is_kept(call, runs: str, more: dict) -> None:
    """Kept, they could not be sent to anybody: neither the run nor any list with it could be read again."""
    answer = call("POST", runs, {"experiment": "first", "run_id": "r1", **more})
    assert (answer.status, answer.json["error"]["code"]) == (400, "request.invalid")
    assert call("GET", f"{runs}/r1").status == 404
    assert call("POST", f"{runs}/find", {}).json == []


def test_a_submitted_run_that_was_not_placed_is_canceled_at_once(call, runs: str) -> None:
    record = open_run(call, runs, "r1", spec={"script": "train.py"})
    assert (record["state"], record["type"]) == ("NotStarted", "azureml.scriptrun")
    assert call("POST", f"{runs}/r1/cancel").json["state"] == "Canceled"
    assert call("POST", f"{runs}/r1/cancel").json["state"] == "Canceled"


def test_cancel_takes_the_children_along(call, runs: str) -> None:
    open_run(call, runs, "parent")
    open_run(call, runs, "child", parent_run_id="parent")
    open_run(call, runs, "grandchild", parent_run_id="child", spec={"script": "train.py"})
    call("POST", f"{runs}/parent/cancel")
    assert [call("GET", f"{runs}/{name}").json["state"] for name in ("parent", "child", "grandchild")] == [
        "Canceled"
    ] * 3
    assert call("GET", f"{runs}/grandchild").json["root_run_id"] == "parent"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"script": "a.py", "target": "nowhere"}, "compute.unknown"),
        ({"script": "a.py", "nodes": 100_000}, "request.nodes"),
        ({"script": "a.py", "nodes": 0}, "request.invalid"),
        ({}, "request.invalid"),
        ({"script": "a.py", "command": "ls"}, "request.invalid"),
        ({"script": "a.py", "snapshot_id": "0" * 64}, "blob.unknown"),
    ],
)
def test_what_cannot_run_is_refused_before_it_is_queued(call, runs: str, spec: dict, code: str) -> None:
    answer = call("POST", runs, {"experiment": "first", "run_id": "r1", "spec": spec})
    assert answer.json["error"]["code"] == code
    assert call("GET", f"{runs}/r1").status == 404


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", ".hidden", "x" * 300])
def test_names_outside_the_rules_are_refused(call, runs: str, name: str) -> None:
    assert call("POST", runs, {"experiment": name}).json["error"]["code"] == "request.name"
    assert call("POST", runs, {"experiment": "fine", "run_id": name or " "}).json["error"]["code"] == "request.name"


def test_properties_are_written_once_and_tags_freely(call, runs: str) -> None:
    open_run(call, runs, "r1")
    call("PATCH", f"{runs}/r1", {"set_tags": {"a": "1", "b": None}, "add_properties": {"p": "1"}})
    call("PATCH", f"{runs}/r1", {"set_tags": {"a": "2"}, "remove_tags": ["b"], "add_properties": {"p": "1"}})
    refused = call("PATCH", f"{runs}/r1", {"add_properties": {"p": "2"}})
    record = call("GET", f"{runs}/r1").json
    assert (record["tags"], record["properties"], refused.status) == ({"a": "2"}, {"p": "1"}, 409)


def test_runs_are_found_newest_first_and_page_by_page(call, runs: str) -> None:
    for number in range(5):
        open_run(call, runs, f"r{number}", tags={"even": str(number % 2 == 0)})
    open_run(call, runs, "child", parent_run_id="r0")

    def find(**query: object) -> list[str]:
        return [record["run_id"] for record in call("POST", f"{runs}/find", query).json]

    assert find() == ["r4", "r3", "r2", "r1", "r0"]
    assert find(limit=2, after="r3") == ["r2", "r1"]
    assert find(include_children=True)[0] == "child"
    assert find(parent_run_id="r0") == ["child"]
    assert find(tags={"even": "True"}) == ["r4", "r2", "r0"]
    assert find(tags={"odd": None}) == []
    assert find(states=["Completed"]) == []
    call("PATCH", f"{runs}/r1", {"set_tags": {"even": "True"}})
    assert find(tags={"even": "True"}) == ["r4", "r2", "r1", "r0"]


def test_waiting_answers_when_the_history_has_grown(call, runs: str) -> None:
    record = open_run(call, runs, "r1")
    assert call("GET", f"{runs}/r1/wait?seen={record['events'] - 1}").json["state"] == "Running"
    assert call("GET", f"{runs}/r1/wait?seen={record['events']}&timeout_s=0.01").json["events"] == record["events"]


def test_files_need_their_bytes_first(call, runs: str, context: Context) -> None:
    open_run(call, runs, "r1")
    digest = context.blobs.put_bytes(b"weights")
    good = {"name": "./outputs//model.bin", "size": 7, "digest": digest}
    assert call("POST", f"{runs}/r1/files", [good]).status == 200
    assert call("POST", f"{runs}/r1/files", [{**good, "digest": "0" * 64}]).status == 404
    assert call("POST", f"{runs}/r1/files", [{**good, "name": "../../etc/passwd"}]).status == 400
    assert call("GET", f"{runs}/r1/files").json == [{"name": "outputs/model.bin", "size": 7, "digest": digest}]


def test_an_experiment_with_an_active_run_is_not_deleted(call, runs: str) -> None:
    open_run(call, runs, "r1")
    experiments = runs.replace("/runs", "/experiments")
    identity = call("GET", f"{experiments}/first").json["id"]
    assert call("DELETE", f"{experiments}/{identity}").status == 409
    call("POST", f"{runs}/r1/complete")
    assert call("DELETE", f"{experiments}/{identity}").status == 200
    assert call("GET", f"{runs}/r1").status == 404
