"""From a queued run to agents on nodes: attempts are made in a transaction, placed by a backend outside of it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from trainyard.backends.base import Placement
from trainyard.contract.attempts import AgentOrder
from trainyard.contract.names import new_id
from trainyard.contract.runs import HYPERDRIVE, LOCAL_TARGET
from trainyard.contract.states import ACTIVE, RunState
from trainyard.server.computes import service as computes
from trainyard.server.context import Context
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import run_row_by_key
from trainyard.server.runs.tables import attempt_nodes, attempts, runs

_PER_PASS = 32  # attempts begun for one target in one transaction

_TARGETS = (
    select(runs.c.workspace_id, runs.c.target).where(runs.c.state == RunState.QUEUED.value).distinct().limit(1000)
)
# Of those that wait only what allocation asks for: a specification costs more to read than a node to find.
_QUEUE = (
    select(
        *(runs.c.workspace_id, runs.c.target, runs.c.key, runs.c.run_id, runs.c.nodes),
        func.coalesce(runs.c.spec["min_nodes"].as_integer(), 0),
    )
    .where(
        runs.c.state == RunState.QUEUED.value,
        runs.c.workspace_id == bindparam("workspace_id"),
        runs.c.target == bindparam("target"),
    )
    .order_by(runs.c.key)
    .limit(_PER_PASS)
)
_PARENTS, _ABOVE = runs.alias("parents"), runs.alias("above")
_LIVE = [state.value for state in ACTIVE]
# Below a run that has nodes itself; a sweep has none, and counts as what it is below.
_CHILDREN = (
    _QUEUE.join(_PARENTS, _PARENTS.c.key == runs.c.parent_key)
    .join(_ABOVE, _ABOVE.c.key == _PARENTS.c.parent_key, isouter=True)
    .where(
        (_PARENTS.c.state.in_(_LIVE) & (_PARENTS.c.type.is_distinct_from(HYPERDRIVE)))
        | (_ABOVE.c.state.in_(_LIVE) & (_PARENTS.c.type == HYPERDRIVE))
    )
)
_ATTEMPT, _MEMBERS = insert(attempts), insert(attempt_nodes)
_PLACED = update(attempts).where(attempts.c.attempt_id == bindparam("old_id"))
_UNPLACED = select(
    attempts.c.attempt_id,
    attempts.c.backend,
    select(func.count()).where(attempt_nodes.c.attempt_id == attempts.c.attempt_id).scalar_subquery(),
    select(runs.c.spec).where(runs.c.key == attempts.c.run_key).scalar_subquery(),
).where(attempts.c.handle.is_(None), attempts.c.ended_ns.is_(None), attempts.c.swept.is_(False))


@dataclass(frozen=True)
class _Waiting:
    """A queued run."""

    workspace_id: str
    target: str
    key: int
    run_id: str
    nodes: int
    min_nodes: int  # 0: with no other count than `nodes`


@dataclass(frozen=True)
class Placing:
    """An attempt that waits to be placed."""

    attempt_id: str
    backend: str
    nodes: int
    ports: int = 0  # that each of its agents is to hold


def begin_attempts(tx: Connection, context: Context) -> list[Placing]:
    """Give queued runs their nodes, first come first served on each target: a run that needs many nodes gets them when
    its turn has come. Only a child never waits for nodes of `local` that its waiting parent holds."""
    begun: list[Placing | None] = []
    for workspace_id, target in tx.execute(_TARGETS).all():
        here = {"workspace_id": workspace_id, "target": target}
        for row in tx.execute(_QUEUE, here).all():
            begun.append(_begin(tx, context, _Waiting(*row)))
            if begun[-1] is None:
                break
        if target == LOCAL_TARGET:
            begun += [_begin(tx, context, _Waiting(*row), exempt=True) for row in tx.execute(_CHILDREN, here).all()]
    return [placing for placing in begun if placing is not None]


def unplaced(tx: Connection) -> list[Placing]:
    """Attempts that were begun and not placed: the service was killed in between, or the engine was away."""
    return [Placing(*row[:3], ports=_ports(row[3])) for row in tx.execute(_UNPLACED)]


def placement_of(context: Context, placing: Placing) -> Placement:
    """What a backend has to place. The same each time it is asked, so that it can be asked again."""
    shared = context.backends[placing.backend].shares_files
    work = os.path.join(context.settings.folder("work"), placing.attempt_id)
    orders = tuple(
        AgentOrder(
            attempt_id=placing.attempt_id,
            node=node,
            token=context.authenticator.attempt_token(placing.attempt_id),
            endpoint=None if shared else context.settings.advertised,
            home=context.settings.home,
            work=work if shared else os.path.join(work, f"node-{node}"),
            shared_blobs=context.blobs.root if shared else None,
            ports=placing.ports,
        )
        for node in range(placing.nodes)
    )
    argv = (sys.executable, "-m", "trainyard.agent")
    return Placement(placing.attempt_id, argv, orders, {"TRAINYARD_HOME": context.settings.home})


def record_handles(tx: Connection, handles: dict[str, str]) -> None:
    placed = [{"old_id": attempt_id, "handle": handle} for attempt_id, handle in handles.items()]
    tx.execute(_PLACED, placed)


def _ports(spec: dict[str, Any] | None) -> int:
    return int((spec or {}).get("ports", 0))


def _sharing(nodes: tuple[computes.Node, ...]) -> str:
    dealt = [gpu for node in nodes for gpu in node.gpus]
    return (
        f"; they share {', '.join(f'GPU {gpu}' for gpu in dict.fromkeys(dealt))}"
        if len(set(dealt)) < len(dealt)
        else ""
    )


def _begin(tx: Connection, context: Context, who: _Waiting, exempt: bool = False) -> Placing | None:
    """None: its nodes are not free."""
    now = context.clock()
    attempt_id = new_id()
    allocate = partial(computes.allocate, tx, who.workspace_id, who.target, attempt_id, who.run_id, who.nodes)
    nodes = allocate(exempt, now, least=who.min_nodes or None)
    if nodes is None:
        return None
    row = run_row_by_key(tx, who.key)
    placing = Placing(attempt_id, computes.backend_of(tx, who.workspace_id, who.target), len(nodes), _ports(row.spec))
    owner = {"workspace_id": row.workspace_id, "created_by": row.created_by}
    attempt = {"attempt_id": attempt_id, "run_key": row.key, "number": row.attempt + 1, "backend": placing.backend}
    tx.execute(_ATTEMPT, {**attempt, "created_ns": now, **owner})
    members = [
        {
            "attempt_id": attempt_id,
            "node": at,
            "node_id": node.node_id,
            "gpus": list(node.gpus),
            "final": False,
            **owner,
        }
        for at, node in enumerate(nodes)
    ]
    tx.execute(_MEMBERS, members)
    context.authenticator.grant_attempt(tx, attempt_id, row.run_id, row.key, row.workspace_id, row.created_by, now)
    where = ", ".join(node.node_id for node in nodes) + _sharing(nodes)
    writer = Writer(tx, context.authenticator, now, "service")
    writer.begin_attempt(row, row.attempt + 1, f"Placing agents on {where}")
    return placing
