"""Which rank was the last to start: what slows the beginning of a distributed job down."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection, Row

from trainyard.contract.states import RunState
from trainyard.server.context import Context
from trainyard.server.db import after_commit
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow


def note_starts(
    tx: Connection, context: Context, row: RunRow, attempt: Row[Any], nodes: int, node: int, ranks: dict[int, int]
) -> RunRow:
    """Into the run's history, once every node has said when its ranks started; not of a run that is over by then."""
    known = context.pulse.started(attempt.attempt_id, node, ranks, nodes)
    if known is None or RunState(row.state) is not RunState.RUNNING:
        return row
    after_commit(tx, partial(context.pulse.noted, attempt.attempt_id))
    writer = Writer(tx, context.authenticator, context.clock(), "service")
    return writer.note(row, slowest(known))


def slowest(known: dict[int, dict[int, int]]) -> str:
    """`known`: node → rank → when, in nanoseconds."""
    starts = sorted((at, rank, node) for node, ranks in known.items() for rank, at in ranks.items())
    last, rank, node = starts[-1]
    behind = f"{(last - starts[0][0]) / 1e9:.3f} s after the first"
    return f"All {len(starts)} ranks have started; rank {rank} on node-{node} was the last, {behind}"
