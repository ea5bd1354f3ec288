from __future__ import annotations

from trainyard.server.activity import Pulse
from trainyard.server.runs.ranks import slowest


def test_the_last_rank_and_its_node_are_named() -> None:
    known = {0: {0: 5_000_000_000, 1: 5_100_000_000}, 1: {2: 6_250_000_000, 3: 5_300_000_000}}
    assert slowest(known) == "All 4 ranks have started; rank 2 on node-1 was the last, 1.250 s after the first"


def test_it_is_said_once_all_nodes_have_spoken_and_not_again() -> None:
    pulse = Pulse()
    assert pulse.started("a", 1, {1: 7}, nodes=2) is None
    assert pulse.started("a", 1, {1: 7}, nodes=2) is None  # the same report, sent again
    assert pulse.started("a", 0, {0: 5}, nodes=2) == {0: {0: 5}, 1: {1: 7}}
    assert pulse.started("a", 0, {0: 5}, nodes=2) is None
    assert pulse.started("b", 0, {0: 5}, nodes=2) is None
