"""The reconciler's looks, one at a time."""

from __future__ import annotations

import pytest

from trainyard.contract.states import RunState
from trainyard.server.context import Context
from trainyard.server.reconcile import Reconciler, rest_s
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


@pytest.mark.parametrize(
    ("took_s", "ago_s", "rests_s"),
    [
        pytest.param(0.004, 1.0, 0.0, id="a wish after a quiet while is looked at at once"),
        pytest.param(0.004, 0.0, 0.004, id="one of a flood waits for the others"),
        pytest.param(0.004, 0.003, 0.001, id="for what is left of the rest"),
        pytest.param(9.0, 0.0, 0.05, id="never for long: an engine was slow, not we"),
    ],
)
def test_a_flood_of_wishes_is_looked_at_together(took_s: float, ago_s: float, rests_s: float) -> None:
    assert rest_s(took_s, ago_s) == pytest.approx(rests_s)
