from __future__ import annotations

import pytest

from trainyard.contract.runs import Role
from trainyard.launchers.spread import Slot, dealt, in_blocks


@pytest.mark.parametrize(
    ("roles", "nodes", "expected"),
    [
        (
            (Role("worker", 2), Role("ps", 1)),
            2,
            [Slot(0, "worker", 0, 0, 0), Slot(1, "worker", 1, 1, 0), Slot(2, "ps", 0, 0, 1)],
        ),
        ((Role("worker", 1), Role("ps", 1)), 2, [Slot(0, "worker", 0, 0, 0), Slot(1, "ps", 0, 1, 0)]),
        (
            (Role("chief", 1), Role("worker", 2), Role("ps", 2)),
            3,
            [
                Slot(0, "chief", 0, 0, 0),
                Slot(1, "worker", 0, 1, 0),
                Slot(2, "worker", 1, 2, 0),
                Slot(3, "ps", 0, 0, 1),
                Slot(4, "ps", 1, 1, 1),
            ],
        ),
        ((Role("worker", 2),), 1, [Slot(0, "worker", 0, 0, 0), Slot(1, "worker", 1, 0, 1)]),
        ((Role("worker", 1),), 3, [Slot(0, "worker", 0, 0, 0)]),
        ((), 2, []),
    ],
)
def test_processes_are_dealt_to_nodes(roles: tuple[Role, ...], nodes: int, expected: list[Slot]) -> None:
    assert dealt(roles, nodes) == expected


@pytest.mark.parametrize(
    ("count", "nodes", "expected"),
    [
        (4, 2, [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]),
        (3, 2, [(0, 0, 0), (1, 0, 1), (2, 1, 0)]),
        (5, 3, [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1), (4, 2, 0)]),
        (1, 2, [(0, 0, 0)]),
        (2, 1, [(0, 0, 0), (1, 0, 1)]),
    ],
)
def test_ranks_in_blocks(count: int, nodes: int, expected: list[tuple[int, int, int]]) -> None:
    assert [(slot.rank, slot.node, slot.local_rank) for slot in in_blocks(count, nodes)] == expected
