"""Which process runs on which node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trainyard.contract.runs import Role


@dataclass(frozen=True)
class Slot:
    """A place for one process. `rank` counts over all roles, `index` within its role."""

    rank: int
    role: str
    index: int
    node: int
    local_rank: int  # counts on its node


def dealt(roles: Sequence[Role], nodes: int) -> list[Slot]:
    """One after the other, node by node, as cards are dealt: every node gets as many as any other, or one more, and the
    processes of a role are on as many nodes as there can be."""
    order = [(role.name, index) for role in roles for index in range(role.count)]
    return [Slot(rank, name, index, rank % nodes, rank // nodes) for rank, (name, index) in enumerate(order)]


def in_blocks(count: int, nodes: int) -> list[Slot]:
    """Workers in blocks of neighbouring ranks, for frameworks that count ranks node by node. The first nodes get one
    more where it does not come out even."""
    sizes = [count // nodes + (node < count % nodes) for node in range(nodes)]
    where = [node for node, size in enumerate(sizes) for _ in range(size)]
    seen: Counter[int] = Counter()
    slots = []
    for rank, node in enumerate(where):
        slots.append(Slot(rank, "worker", rank, node, seen[node]))
        seen[node] += 1
    return slots
