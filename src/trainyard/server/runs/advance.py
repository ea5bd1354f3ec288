"""Brings a run to where the facts say it is. Reports of agents and the looks of the reconciler both end here."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from trainyard.backends.base import Observed
from trainyard.contract.attempts import NodeEnded
from trainyard.contract.codec import from_json
from trainyard.contract.errors import IllegalMove
from trainyard.contract.states import TERMINAL, RunState
from trainyard.server.context import Context
from trainyard.server.db import after_commit
from trainyard.server.runs.decide import Facts, Move, NodeFacts, Restart, StopReason, decide
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow, run_row_by_key
from trainyard.server.runs.tables import attempt_nodes, attempts, runs

_LIVE = select(attempts).where(attempts.c.run_key == bindparam("key"), attempts.c.ended_ns.is_(None))
_NODES = (
    select(attempt_nodes).where(attempt_nodes.c.attempt_id == bindparam("attempt_id")).order_by(attempt_nodes.c.node)
)
_OPEN_CHILDREN = select(runs).where(
    runs.c.parent_key == bindparam("key"), runs.c.spec.is_(None), runs.c.state == RunState.RUNNING.value
)


def advance(tx: Connection, context: Context, row: RunRow, observed: Observed | None = None) -> RunRow:
    """Take every step that is due for this run; answers its row afterwards."""
    attempt = live_attempt(tx, row.key)
    writer = Writer(tx, context.authenticator, context.clock(), "service")
    facts = _facts(tx, context, row, attempt, observed, writer.now_ns)
    steps = decide(facts)
    if not steps:
        return row
    swept = all(node.final for node in facts.nodes)  # every agent has said goodbye
    try:
        if moves := [step for step in steps if isinstance(step, Move)]:
            row = writer.walk(row, moves, swept=swept, started_ns=facts.started_ns)
        if restarts := [step for step in steps if isinstance(step, Restart)]:
            row = writer.restart(row, restarts[0].reason, swept=swept)
    except IllegalMove:
        return run_row_by_key(tx, row.key)  # somebody else moved it in the meantime; the next look sees how it is
    over = RunState(row.state) in TERMINAL
    if over:
        _end_open_children(writer, row)
    if attempt is not None and (over or RunState(row.state) is RunState.QUEUED):
        after_commit(tx, partial(context.pulse.forget, attempt.attempt_id))
    return row


def live_attempt(tx: Connection, run_key: int) -> Row[Any] | None:
    return tx.execute(_LIVE, {"key": run_key}).first()


def _facts(
    tx: Connection, context: Context, row: RunRow, attempt: Row[Any] | None, observed: Observed | None, now_ns: int
) -> Facts:
    nodes: tuple[NodeFacts, ...] = ()
    if attempt is not None:
        members = tx.execute(_NODES, {"attempt_id": attempt.attempt_id})
        nodes = tuple(_node(member) for member in members)
    return Facts(
        state=RunState(row.state),
        run_id=row.run_id,
        now_ns=now_ns,
        deadline_ns=row.deadline_ns,
        nodes=nodes,
        stop=StopReason(attempt.stop) if attempt is not None and attempt.stop else None,
        placed=attempt is not None and attempt.handle is not None,
        observed=observed.state if observed else None,
        detail=observed.detail if observed else "",
        silent_s=context.pulse.silent_s(attempt.attempt_id) if attempt is not None else 0.0,
        attempt=row.attempt,
        max_restarts=int((row.spec or {}).get("max_restarts", 0)),
    )


def _node(member: Row[Any]) -> NodeFacts:
    return NodeFacts(
        node=member.node,
        arrived=member.arrived_ns is not None,
        started_ns=member.started_ns,
        ended=from_json(NodeEnded, member.ended) if member.ended is not None else None,
        final=member.final,
        ended_ns=member.ended_ns or 0,
    )


def _end_open_children(writer: Writer, row: RunRow) -> None:
    """Runs that a job opened for logging and did not close have nobody left to close them."""
    for child in writer.tx.execute(_OPEN_CHILDREN, {"key": row.key}).all():
        writer.move(RunRow.of(child), RunState(row.state), f"Its parent run ended ({row.state})")
