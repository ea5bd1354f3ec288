from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

from trainyard.server.activity import Pulse
from trainyard.server.context import Context
from trainyard.server.runs.ranks import note_starts, slowest
from trainyard.server.runs.records import run_row


def test_the_last_rank_and_its_node_are_named() -> None:
    known = {0: {0: 5_000_000_000, 1: 5_100_000_000}, 1: {2: 6_250_000_000, 3: 5_300_000_000}}
    assert slowest(known) == "All 4 ranks have started; rank 2 on node-1 was the last, 1.250 s after the first"


def test_it_is_known_once_all_nodes_have_spoken_until_it_is_noted() -> None:
    pulse = Pulse()
    assert pulse.started("a", 1, {1: 7}, nodes=2) is None
    assert pulse.started("a", 1, {1: 7}, nodes=2) is None  # the same report, sent again
    assert pulse.started("a", 0, {0: 5}, nodes=2) == {0: {0: 5}, 1: {1: 7}}
    assert pulse.started("a", 0, {0: 5}, nodes=2) == {0: {0: 5}, 1: {1: 7}}
    pulse.noted("a")
    assert pulse.started("a", 0, {0: 5}, nodes=2) is None
    assert pulse.started("b", 0, {0: 5}, nodes=2) is None


def test_a_report_that_could_not_be_committed_is_noted_when_it_comes_again(context: Context, call: Any) -> None:
    class NotNow(Exception):
        pass

    workspace = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    runs = f"/api/v1/workspaces/{workspace}/runs"
    call("POST", runs, {"experiment": "first", "run_id": "r1"})
    attempt: Any = SimpleNamespace(attempt_id="a")
    for last in (NotNow, None, None):
        with contextlib.suppress(NotNow), context.db.write() as tx:
            note_starts(tx, context, run_row(tx, workspace, "r1"), attempt, 1, 0, {0: 5_000_000_000, 1: 5_500_000_000})
            if last is not None:
                raise last
    reasons = [event["reason"] for event in call("GET", f"{runs}/r1/events").json]
    said = "All 2 ranks have started; rank 1 on node-0 was the last, 0.500 s after the first"
    assert reasons.count(said) == 1
