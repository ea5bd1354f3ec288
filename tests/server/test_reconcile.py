"""The reconciler's looks, one at a time."""

from __future__ import annotations

import pytest

from trainyard.contract.states import RunState
from trainyard.server.context import Context
from trainyard.server.reconcile import Reconciler
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import run_row


def test_a_run_that_ends_while_it_is_looked_at_stays_as_it_is(
    call, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    call("POST", f"/api/v1/workspaces/{workspace}/runs", {"experiment": "e", "run_id": "one", "spec": None})
    reconciler = Reconciler(context)
    observe = reconciler._observe

    def observe_and_meanwhile_it_ends(rows):
        assert [row.run_id for row in rows] == ["one"]
        with context.db.write() as tx:
            row = run_row(tx, workspace, "one")
            Writer(tx, context.authenticator, context.clock(), "ada").move(row, RunState.CANCELED, "Not needed")
        return observe(rows)

    monkeypatch.setattr(reconciler, "_observe", observe_and_meanwhile_it_ends)

    reconciler.tick()

    ended = call("GET", f"/api/v1/workspaces/{workspace}/runs/one").json
    assert (ended["state"], ended["reason"]) == ("Canceled", "Not needed")
