"""Runs without processes of their own: another feature of the service conducts them and decides how they end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from trainyard.contract.codec import from_json
from trainyard.contract.runs import NewRun, RunChange, RunError, RunSpec
from trainyard.contract.states import RunState
from trainyard.server.context import Context
from trainyard.server.identity.service import Principal
from trainyard.server.runs import service
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow, run_row, run_row_by_key
from trainyard.server.runs.tables import runs

_STATES = select(runs.c.key, runs.c.state, runs.c.started_ns, runs.c.ended_ns, runs.c.error).where(
    runs.c.key.in_(bindparam("keys", expanding=True))
)
_AT_ONCE = 500


@dataclass(frozen=True)
class Seen:
    state: RunState
    started_ns: int | None
    ended_ns: int | None
    error: RunError | None


def begin(
    tx: Connection,
    context: Context,
    principal: Principal,
    workspace_id: str,
    new: NewRun,
    run: RunSpec,
    asked: Any,
) -> int:
    """A run that is open at once and waits for nothing; `run` is what its children will be, and says where. Answers its
    key. A resend, one that has the same `asked`, finds the run there already."""
    service.check_spec(tx, context, workspace_id, run)
    record = service.create_run(tx, context, principal, workspace_id, new, asked)
    row = run_row(tx, workspace_id, record.run_id)
    if RunState(row.state) is RunState.NOT_STARTED:
        tx.execute(update(runs).where(runs.c.key == row.key).values(target=run.target, nodes=run.nodes))
        writer = Writer(tx, context.authenticator, context.clock(), principal.name)
        writer.move(run_row_by_key(tx, row.key), RunState.RUNNING, "Children are being started")
    return int(row.key)


def states_of(tx: Connection, run_keys: Iterable[int]) -> dict[int, Seen]:
    keys, found = list(run_keys), {}
    for at in range(0, len(keys), _AT_ONCE):
        for key, state, started_ns, ended_ns, error in tx.execute(_STATES, {"keys": keys[at : at + _AT_ONCE]}):
            read = from_json(RunError, error) if error else None
            found[key] = Seen(RunState(state), started_ns, ended_ns, read)
    return found


def warn(tx: Connection, row: RunRow, sentence: str) -> None:
    """One more sentence among the run's warnings."""
    tx.execute(update(runs).where(runs.c.key == row.key).values(warnings=[*row.warnings, sentence]))


def note(tx: Connection, row: RunRow, properties: dict[str, str]) -> None:
    """Properties that are found out late; those it has stay as they are."""
    fresh: dict[str, Any] = {name: value for name, value in properties.items() if name not in row.properties}
    service.change_run(tx, row, RunChange(add_properties=fresh))
