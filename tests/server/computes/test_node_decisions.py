"""Which nodes come, go and are taken: tables of what is there → what happens."""

from __future__ import annotations

import pytest

from trainyard.server.computes.decide import (
    Allocation,
    Limits,
    NodeState,
    NodeView,
    Scaling,
    allocation,
    deal,
    most_at_once,
    scaling,
)


def node(name: str, state: NodeState = NodeState.IDLE, since: int = 0, held: bool = False) -> NodeView:
    return NodeView(name, state, since, held)


BUSY = node("busy", NodeState.RUNNING, held=True)


@pytest.mark.parametrize(
    ("there", "most", "wanted", "expected"),
    [
        pytest.param([], 4, 4, Allocation((), 4), id="all new"),
        pytest.param([], 4, 5, None, id="more than there can be"),
        pytest.param([BUSY, node("a")], 2, 1, Allocation(("a",), 0), id="the idle one"),
        pytest.param([BUSY, node("a")], 2, 2, None, id="all or none"),
        pytest.param([node("a", since=1), node("b", since=5)], 4, 1, Allocation(("b",), 0), id="the one used last"),
        pytest.param([node("a"), node("b")], 4, 3, Allocation(("a", "b"), 1), id="idle first, then new"),
        pytest.param(
            [node("gone", NodeState.PREEMPTED, held=True)], 1, 1, None, id="a lost node's place is not free yet"
        ),
        pytest.param([BUSY, BUSY], 1, 1, None, id="above a lowered maximum"),
    ],
)
def test_allocation(there: list[NodeView], most: int, wanted: int, expected: Allocation | None) -> None:
    assert allocation(there, most, wanted) == expected


@pytest.mark.parametrize(("wanted", "least", "expected"), [(4, 2, 3), (4, 3, 3), (4, 4, None), (2, 1, 2)])
def test_a_run_that_takes_what_there_is(wanted: int, least: int, expected: int | None) -> None:
    idle = NodeView("a", NodeState.IDLE, 1)
    held = NodeView("b", NodeState.RUNNING, 1, held=True)
    given = allocation([idle, held], 4, wanted, least)  # one is idle, two more may come up
    assert (None if given is None else len(given.take) + given.rise) == expected


@pytest.mark.parametrize(
    ("there", "limits", "expected"),
    [
        pytest.param([], Limits(2, 4, 10), Scaling((), 2), id="up to the minimum"),
        pytest.param([BUSY], Limits(1, 4, 10), Scaling(), id="a busy node counts"),
        pytest.param([node("a", since=95)], Limits(0, 4, 10), Scaling((), 0, 105), id="not idle for long enough"),
        pytest.param([node("a", since=90)], Limits(0, 4, 10), Scaling(("a",)), id="idle for too long"),
        pytest.param([node("a", since=1)], Limits(1, 4, 10), Scaling(), id="the minimum stays"),
        pytest.param(
            [node("b", since=2), node("a", since=1), node("c", since=99)],
            Limits(1, 4, 10),
            Scaling(("a", "b")),
            id="longest idle first",
        ),
        pytest.param([node("a", since=99), BUSY], Limits(0, 1, 10), Scaling(("a",)), id="above a lowered maximum"),
        pytest.param([node("x", NodeState.PREEMPTED)], Limits(1, 4, 10), Scaling(("x",), 1), id="lost and replaced"),
        pytest.param([node("x", NodeState.PREEMPTED, held=True)], Limits(0, 4, 10), Scaling(), id="lost, still held"),
    ],
)
def test_scaling(there: list[NodeView], limits: Limits, expected: Scaling) -> None:
    assert scaling(there, limits, now_ns=100) == expected


def test_no_gpu_is_dealt_twice() -> None:
    gpus = ("0", "1", "2", "3")
    assert deal(gpus, (), 2, 2) == (("0", "1"), ("2", "3"))
    assert deal(gpus, ("1",), 1, 3) == (("0",), ("2",), ("3",))
    assert deal(gpus, ("1",), 2, 2) is None
    assert deal((), (), 0, 2) == ((), ())


def test_a_run_of_more_nodes_than_there_are_gpus_for_shares_them_all() -> None:
    assert deal(("0",), (), 1, 2) == (("0",), ("0",))
    assert deal(("0", "1", "2"), (), 2, 2) == (("0", "1"), ("2", "0"))
    assert deal(("0", "1", "2"), ("1",), 2, 2) is None


@pytest.mark.parametrize(
    ("most", "per_node", "gpus", "expected"), [(4, 0, 0, 4), (4, 1, 2, 2), (1, 1, 8, 1), (4, 3, 8, 2)]
)
def test_gpus_limit_how_many_nodes_run_at_once(most: int, per_node: int, gpus: int, expected: int) -> None:
    assert most_at_once(most, per_node, gpus) == expected
