"""Which nodes a run gets and which come and go. Pure, so that its tests are a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum


class NodeState(StrEnum):
    IDLE = "idle"
    PREPARING = "preparing"  # held by an attempt whose processes have not started
    RUNNING = "running"
    LEAVING = "leaving"  # to go as soon as its attempt has ended
    PREEMPTED = "preempted"  # taken away; its attempt is being ended


@dataclass(frozen=True)
class NodeView:
    node_id: str
    state: NodeState
    since_ns: int
    held: bool = False  # by an attempt


@dataclass(frozen=True)
class Limits:
    min_nodes: int
    max_nodes: int
    idle_ns: int


@dataclass(frozen=True)
class Allocation:
    """Idle nodes to take, and how many new ones to bring up."""

    take: tuple[str, ...]
    rise: int


@dataclass(frozen=True)
class Scaling:
    drop: tuple[str, ...] = ()
    rise: int = 0
    due_ns: int | None = None  # when an idle node will have been idle for too long


def allocation(nodes: Collection[NodeView], most: int, wanted: int, least: int | None = None) -> Allocation | None:
    """All nodes or none: idle ones first (those used last, so that the others can go), then new ones up to `most`. With
    `least`, as many of the wanted as there are, but no fewer than these."""
    idle = sorted(
        (node for node in nodes if node.state is NodeState.IDLE), key=lambda node: (-node.since_ns, node.node_id)
    )
    room = max(0, most - len(nodes))
    given = min(wanted, len(idle) + room)
    if given < (wanted if least is None else least):
        return None
    take = tuple(node.node_id for node in idle[:given])
    return Allocation(take, given - len(take))


def scaling(nodes: Collection[NodeView], limits: Limits, now_ns: int) -> Scaling:
    """Up to the minimum; down by the nodes that were idle for too long, longest first, and by those above the maximum.
    A node that was taken away goes when its attempt has ended."""
    gone = tuple(node.node_id for node in nodes if node.state is NodeState.PREEMPTED and not node.held)
    here = [node for node in nodes if node.state is not NodeState.PREEMPTED]
    idle = sorted(
        (node for node in here if node.state is NodeState.IDLE), key=lambda node: (node.since_ns, node.node_id)
    )
    spare = idle[: max(0, len(here) - limits.min_nodes)]
    excess = max(0, len(here) - limits.max_nodes)
    dropped = [node for at, node in enumerate(spare) if at < excess or node.since_ns + limits.idle_ns <= now_ns]
    waiting = [node.since_ns + limits.idle_ns for node in spare if node not in dropped]
    rise = max(0, limits.min_nodes - len(here))
    return Scaling(gone + tuple(node.node_id for node in dropped), rise, min(waiting, default=None))


def deal(gpus: Sequence[str], held: Collection[str], per_node: int, nodes: int) -> tuple[tuple[str, ...], ...] | None:
    """GPUs for each of `nodes` nodes, none of those `held`; None when there are too few now. Where one run asks for
    more than there are at all, its nodes share them all, by turns: it runs, as it would on a machine without any."""
    free = [gpu for gpu in gpus if gpu not in held]
    if min(per_node * nodes, len(gpus)) > len(free):
        return None
    return tuple(tuple(free[(at * per_node + turn) % len(free)] for turn in range(per_node)) for at in range(nodes))


def most_at_once(max_nodes: int, gpus_per_node: int, gpus: int) -> int:
    """How many nodes of a target can be up at the same time here: no GPU serves two runs."""
    return min(max_nodes, gpus // gpus_per_node) if gpus_per_node else max_nodes
