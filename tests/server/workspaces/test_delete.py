"""Deleting a workspace leaves nothing of it behind, in whatever feature's tables."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from sqlalchemy import func, select

from trainyard.contract.data import DataMode, DatastoreKind, DataUse
from trainyard.server.context import Context
from trainyard.server.data import service as data
from trainyard.server.db import metadata
from trainyard.server.runs import service as runs
from trainyard.server.runs.records import run_row
from trainyard.server.scope import Scope

# rows that every workspace of these tests has
FILLED = {
    "computes",
    "data_uses",
    "datasets",
    "datastores",
    "environment_builds",
    "environments",
    "experiments",
    "logged_models",
    "nodes",
    "registered_models",
    "retention_rules",
    "run_events",
    "run_labels",
    "runs",
    "vault",
    "workspaces",
}


@pytest.fixture
def fill(call, context: Context) -> Callable[[str], str]:
    """Makes a workspace of that name with something of every feature; answers its id."""

    def filled(name: str) -> str:
        yard = call("POST", "/api/v1/workspaces", {"name": name}).json["id"]

        def post(path: str, value: object, method: str = "POST") -> object:
            answer = call(method, path.format(f"/api/v1/workspaces/{yard}"), value)
            assert answer.status == 200, answer.body
            return answer.json

        environment = {"name": "bare", "python": {"userManagedDependencies": True}}
        post("{}/computes", {"name": "cluster", "min_nodes": 1, "max_nodes": 1})
        post("{}/environments", {"definition": environment})
        post("{}/environment-builds", {"definition": environment})
        post("{}/secrets", {"values": {"key": "hush"}})
        post("{}/retention", {"name": "old", "query": "", "older_than_s": 10**9})
        post(
            "{}/datastores",
            {"name": "mine", "kind": DatastoreKind.FOLDER.value, "location": {"path": context.settings.home}},
        )
        post("{}/datasets", {"definition": {"kind": "file", "sources": []}, "name": "digits"})
        post("{}/runs", {"experiment": "first", "run_id": "one", "tags": {"a": "b"}, "started": True})
        mlflow = f"/mlflow/plain/workspaces/{yard}/api/2.0/mlflow"
        post(f"{mlflow}/registered-models/create", {"name": "net"})
        post(f"{mlflow}/logged-models", {"name": "net"})
        with context.db.write() as tx:
            row = run_row(tx, yard, "one")
            data.note_uses(tx, Scope(row.key, yard, "ada"), [DataUse("one", "digits", False, DataMode.MOUNT)], 1)
        files = f"/api/v1/workspaces/{yard}/datastores/workspaceblobstore/content?path=a.txt"
        assert call("PUT", files, body=b"digits").status == 204
        return str(yard)

    return filled


def rows_of(context: Context, yard: str) -> set[str]:
    with context.db.read() as tx:
        return {
            table.name
            for table in metadata.sorted_tables
            if tx.execute(select(func.count()).select_from(table).where(table.c.workspace_id == yard)).scalar_one()
        }


def folder(context: Context, yard: str) -> str:
    return os.path.join(context.settings.folder("datastores"), yard)


def test_nothing_of_a_deleted_workspace_is_left_and_its_neighbour_keeps_all(context, call, fill) -> None:
    gone, kept = fill("gone"), fill("kept")
    assert call("POST", f"/api/v1/workspaces/{gone}/runs/one/complete").status == 200
    assert rows_of(context, gone) >= FILLED
    assert call("DELETE", f"/api/v1/workspaces/{gone}").status == 200
    assert rows_of(context, gone) == set()
    assert rows_of(context, kept) >= FILLED
    assert not os.path.exists(folder(context, gone))
    assert os.path.exists(os.path.join(folder(context, kept), "workspaceblobstore", "a.txt"))


def test_a_run_that_lives_is_not_deleted_with_it_though_it_is_hidden(context, call, fill) -> None:
    yard = fill("yard")
    with context.db.write() as tx:
        runs.archive_run(tx, run_row(tx, yard, "one"), 1)
    before = rows_of(context, yard)
    experiment = call("GET", f"/api/v1/workspaces/{yard}/experiments/first").json["id"]
    for what in (f"/api/v1/workspaces/{yard}", f"/api/v1/workspaces/{yard}/experiments/{experiment}"):
        refused = call("DELETE", what)
        assert refused.status == 409
        assert "Run one of this" in refused.json["error"]["message"]
    assert rows_of(context, yard) == before


def test_a_workspace_that_is_not_there_names_no_folder(context, call) -> None:
    assert call("DELETE", "/api/v1/workspaces/..").status == 404
    assert call("GET", "/api/v1/workspaces/../datastores/workspaceblobstore").status == 404
    assert call("PUT", "/api/v1/workspaces/../datastores/workspaceblobstore/content?path=a", body=b"a").status == 404
    assert not os.path.exists(context.settings.folder("workspaceblobstore"))
