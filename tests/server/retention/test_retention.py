"""What is deleted for good: exactly that, and all of it."""

from __future__ import annotations

import os

import pytest
from sqlalchemy import text

from trainyard.contract.errors import Conflict, UnknownBlob
from trainyard.contract.retention import Rule
from trainyard.server.context import Context
from trainyard.server.db import metadata
from trainyard.server.metrics import service as metrics
from trainyard.server.metrics.chunks import of_numbers
from trainyard.server.retention import content, service
from trainyard.server.retention.janitor import Janitor
from trainyard.server.runs import cleaning
from trainyard.server.runs.records import run_row
from trainyard.server.scope import Scope


@pytest.fixture
def workspace(call) -> str:
    return call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]


@pytest.fixture
def make(call, context: Context, workspace: str):
    """make(run id, files={name: bytes}) → a run that logged, wrote and ended."""

    def made(run_id: str, files: dict[str, bytes] | None = None, ended: bool = True, **more: object) -> None:
        runs = f"/api/v1/workspaces/{workspace}/runs"
        answer = call("POST", runs, {"experiment": "first", "run_id": run_id, "tags": {"a": "b"}, **more})
        assert answer.status == 200, answer.body
        named = [
            {"name": name, "size": len(data), "digest": context.blobs.put_bytes(data)}
            for name, data in (files or {}).items()
        ]
        call("POST", f"{runs}/{run_id}/files", named)
        with context.db.write() as tx:
            key = run_row(tx, workspace, run_id).key
            metrics.append(tx, Scope(key, workspace, "ada"), {"loss": of_numbers([(1, 1, 0.5)])})
        context.logs.append(key, 0, "user_logs/log.txt", 0, b"hello")
        if ended:
            assert call("POST", f"{runs}/{run_id}/complete").json["state"] == "Completed"

    return made


@pytest.fixture
def delete(call, workspace: str):
    def asked(status: int = 200, **what: object):
        answer = call("POST", f"/api/v1/workspaces/{workspace}/runs/delete", {"dry_run": False, **what})
        assert answer.status == status, answer.body
        return answer.json

    return asked


def rows(context: Context) -> dict[str, int]:
    """How many rows each table has, of those that runs fill."""
    with context.db.read() as tx:
        counts = {name: tx.execute(text(f"SELECT count(*) FROM {name}")).scalar() for name in metadata.tables}
    about = ("run", "metric", "attempt", "logged")
    return {name: number for name, number in counts.items() if number and name.startswith(about)}


def left(call, workspace: str) -> list[str]:
    found = call("POST", f"/api/v1/workspaces/{workspace}/search", {}).json["runs"]
    return sorted(each["run"]["run_id"] for each in found)


def test_a_dry_run_says_what_would_go_and_takes_nothing(context, call, workspace, make, delete) -> None:
    make("a", {"model.bin": b"x" * 100, "again.bin": b"x" * 100})
    before = rows(context)
    found = delete(run_ids=["a"], dry_run=True)
    assert (found["dry_run"], found["run_ids"], found["metrics"]) == (True, ["a"], 1)
    assert (found["files"], found["file_bytes"], found["log_bytes"]) == (2, 200, 5)
    assert rows(context) == before


def test_nothing_of_a_deleted_run_is_left(context, call, workspace, make, delete) -> None:
    make("kept")
    before = rows(context)
    make("a", {"model.bin": b"weights"})
    make("below", parent_run_id="a")
    folders = sorted(os.listdir(context.settings.folder("logs")))
    assert sorted(delete(run_ids=["a"])["run_ids"]) == ["a", "below"]
    assert rows(context) == before
    assert left(call, workspace) == ["kept"]
    assert sorted(os.listdir(context.settings.folder("logs"))) == folders[:1]
    assert sorted(os.listdir(context.settings.folder("spool"))) == folders[:1]
    assert call("GET", f"/api/v1/workspaces/{workspace}/runs/a").status == 404
    make("next")  # a database may give it the key of the one that is gone
    assert call("GET", f"/api/v1/workspaces/{workspace}/runs/next/files").json == [
        {"name": "user_logs/log.txt", "size": 5, "digest": None}
    ]


def test_what_lives_is_refused_by_name(call, workspace, make, delete) -> None:
    make("a", ended=False)
    make("b")
    make("below-b", parent_run_id="b", ended=False)
    assert "Run a is Running. Cancel it first" in delete(409, run_ids=["a"])["error"]["message"]
    assert "Run below-b, which is below b, is Running" in delete(409, run_ids=["b"])["error"]["message"]
    assert delete(query="")["run_ids"] == []  # of what a search finds, only what can go goes
    assert left(call, workspace) == ["a", "b", "below-b"]


def test_by_query_experiment_and_age(call, workspace, make, delete) -> None:
    make("a", tags={"keep": "yes"})
    make("b")
    make("c", experiment="second")
    assert delete(query="tags.keep is null", older_than_s=3600)["run_ids"] == []
    assert delete(experiment="second", query="tags.keep is null")["run_ids"] == ["c"]
    assert delete(query="tags.keep is null")["run_ids"] == ["b"]
    assert left(call, workspace) == ["a"]
    assert "Which runs?" in delete(400)["error"]["message"]
    assert delete(404, run_ids=["gone"])["error"]["code"] == "run.unknown"


def test_a_job_may_not_delete(call, context, workspace, make) -> None:
    make("a")
    with context.db.write() as tx:
        context.authenticator.grant_attempt(tx, "att", "a", run_row(tx, workspace, "a").key, workspace, "ada", 1)
    token = context.authenticator.attempt_token("att")
    path = f"/api/v1/workspaces/{workspace}/runs/delete"
    assert call("POST", path, {"run_ids": ["a"], "dry_run": False}, token=token).status == 403


def test_an_experiment_goes_with_all_its_runs_have(context, call, workspace, make) -> None:
    make("a", {"model.bin": b"weights"})
    experiment = call("GET", f"/api/v1/workspaces/{workspace}/experiments/first").json["id"]
    assert call("DELETE", f"/api/v1/workspaces/{workspace}/experiments/{experiment}").status == 200
    assert rows(context) == {}
    assert os.listdir(context.settings.folder("logs")) == []


def test_rules(context, call, workspace, make) -> None:
    make("a")
    make("b", tags={"keep": "1"})
    path = f"/api/v1/workspaces/{workspace}/retention"
    assert call("POST", path, {"name": "all"}).status == 400
    assert call("POST", path, {"name": "bad", "query": "status ="}).json["error"]["code"] == "request.query"
    assert call("POST", path, {"name": "old", "query": "tags.keep is null", "older_than_s": 3600}).status == 200
    assert call("POST", path, {"name": "old", "query": "", "older_than_s": 3600}).status == 409
    assert call("POST", f"{path}/apply").json[0]["run_ids"] == []
    Janitor(context).clean()
    assert left(call, workspace) == ["a", "b"]
    with context.db.write() as tx:
        tx.execute(text("UPDATE runs SET ended_ns = ended_ns - 7200000000000"))
    assert call("POST", f"{path}/apply").json[0]["run_ids"] == ["a"]
    assert left(call, workspace) == ["a", "b"]  # asked without dry_run=0
    Janitor(context).clean()
    assert left(call, workspace) == ["b"]
    assert call("DELETE", f"{path}/old").json == []
    assert call("DELETE", f"{path}/old").status == 404


def sweep(context: Context, **more: object):
    return content.sweep(context, dry_run=False, young_s=-1, **more)


def test_content_that_is_named_stays(context, call, workspace, make, tmp_path) -> None:
    from trainyard.blobs.snapshot import materialise, take

    (tmp_path / "source" / "deep").mkdir(parents=True)
    (tmp_path / "source" / "train.py").write_text("print(1)")
    (tmp_path / "source" / "deep" / "more.py").write_text("print(2)")
    snapshot = take(str(tmp_path / "source"), context.blobs)
    make("a", {"model.bin": b"weights"}, properties={"ContentSnapshotId": snapshot.id})
    lost = context.blobs.put_bytes(b"nobody names this")
    dry = content.sweep(context, dry_run=True, young_s=-1)
    assert (dry.kept, dry.aside, dry.aside_bytes) == (5, 1, 17)
    assert content.sweep(context, dry_run=False).aside == 0  # too young: its name may be on its way
    assert sweep(context).aside == 1
    assert [blob.digest for blob in context.blobs.listing_aside()] == [lost]
    materialise(context.blobs, snapshot.id, str(tmp_path / "again"))
    assert (tmp_path / "again" / "deep" / "more.py").read_text() == "print(2)"


def test_what_was_put_aside_comes_back_when_somebody_asks(context) -> None:
    digests = [context.blobs.put_bytes(data) for data in (b"one", b"two", b"three", b"four")]
    assert sweep(context).aside == 4
    assert list(context.blobs.listing()) == []
    assert context.blobs.read(digests[0]) == b"one"
    assert context.blobs.missing(digests[1:2]) == set()
    assert context.blobs.put_bytes(b"three") == digests[2]
    assert sorted(blob.digest for blob in context.blobs.listing()) == sorted(digests[:3])
    assert sweep(context).gone == 0  # a day has not passed
    gone = sweep(context, aside_s=-1)
    assert (gone.gone, gone.gone_bytes) == (4, 15)
    with pytest.raises(UnknownBlob):
        context.blobs.read(digests[3])


def test_deleted_runs_leave_what_others_name(context, call, workspace, make, delete) -> None:
    make("a", {"model.bin": b"shared", "own.bin": b"only a's"})
    make("b", {"model.bin": b"shared"})
    delete(run_ids=["a"])
    assert sweep(context).aside == 1
    files = call("GET", f"/api/v1/workspaces/{workspace}/runs/b/files").json
    assert context.blobs.read(files[0]["digest"]) == b"shared"


def test_an_old_run_goes_however_many_are_younger(context, call, workspace, make, delete, monkeypatch) -> None:
    monkeypatch.setattr(cleaning, "MOST", 1)  # of one deletion
    for run_id in ("old", "parent"):
        make(run_id)
    with context.db.write() as tx:
        tx.execute(text("UPDATE runs SET ended_ns = 1"))
    make("young", parent_run_id="parent")
    assert delete(query="", older_than_s=3600, dry_run=True)["run_ids"] == []  # what is below the parent is young
    make("other")
    assert delete(query="run_id != parent", older_than_s=3600)["run_ids"] == ["old"]
    assert left(call, workspace) == ["other", "parent", "young"]


def test_two_sweeps_at_once_are_refused(context) -> None:
    with content._one_at_a_time, pytest.raises(Conflict):
        sweep(context)


def test_every_table_with_texts_is_looked_through() -> None:
    """A feature's digests are found wherever it keeps them; left out are packed numbers and hashes of tokens alone."""
    assert {"metric_chunks", "tokens"} == content._NOT_LOOKED_AT


def test_old_attempts(context, workspace, make, delete) -> None:
    make("a")
    make("b")  # which has none
    with context.db.write() as tx:
        key = run_row(tx, workspace, "a").key
        for number in (1, 2):
            tx.execute(
                text(
                    "INSERT INTO attempts (attempt_id, workspace_id, created_by, run_key, number, backend, created_ns, "
                    f"ended_ns, swept) VALUES ('att-{number}', '{workspace}', 'ada', {key}, {number}, 'local', 1, 2, "
                    "true)"
                )
            )
        tx.execute(text("UPDATE runs SET attempt = 2"))
    found = delete(run_ids=["a"], what="attempts", dry_run=True)
    assert (found["attempts"], found["run_ids"]) == (1, ["a"])
    assert delete(query="", what="attempts", dry_run=True)["run_ids"] == ["a"]
    delete(run_ids=["a"], what="attempts")
    with context.db.read() as tx:
        assert tx.execute(text("SELECT attempt_id FROM attempts")).scalars().all() == ["att-2"]


def test_a_rule_s_name_is_checked(context) -> None:
    with context.db.write() as tx, pytest.raises(Exception, match="cannot be the name"):
        service.add_rule(tx, "w", "ada", Rule("../x", "", 10), 1)
