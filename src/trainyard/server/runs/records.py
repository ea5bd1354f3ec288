"""Rows of runs to records, and the look-ups everybody needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from trainyard.contract.codec import from_json
from trainyard.contract.errors import UnknownRun
from trainyard.contract.runs import RunError, RunRecord, RunSpec
from trainyard.contract.states import RunState
from trainyard.server.runs.tables import runs
from trainyard.server.workspaces import service as workspaces

# Made once: building a statement costs more than running it.
_BY_ID = select(runs).where(runs.c.workspace_id == bindparam("workspace_id"), runs.c.run_id == bindparam("run_id"))
_BY_KEY = select(runs).where(runs.c.key == bindparam("key"))
_PARENT = select(runs.c.parent_key).where(runs.c.key == bindparam("key"))


@dataclass(frozen=True)
class RunRow:
    """A row of `runs`, column by column."""

    key: int
    workspace_id: str
    created_by: str
    run_id: str
    experiment_id: str
    number: int
    type: str | None
    parent_key: int | None
    root_key: int | None
    state: str
    reason: str
    attempt: int
    events: int
    target: str | None
    nodes: int
    display_name: str | None
    description: str | None
    snapshot_id: str | None
    error: dict[str, Any] | None
    warnings: list[str]
    tags: dict[str, str | None]
    properties: dict[str, str]
    spec: dict[str, Any] | None
    request: str
    created_ns: int
    started_ns: int | None
    ended_ns: int | None
    deadline_ns: int | None
    due_ns: int | None
    claim: str | None
    claim_until_ns: int
    archived_ns: int | None = None

    @staticmethod
    def of(row: Row[Any]) -> RunRow:
        return RunRow(**row._mapping)


def find_run_row(tx: Connection, workspace_id: str, run_id: str) -> RunRow | None:
    row = tx.execute(_BY_ID, {"workspace_id": workspace_id, "run_id": run_id}).first()
    return RunRow.of(row) if row is not None else None


def run_row(tx: Connection, workspace_id: str, run_id: str) -> RunRow:
    if (row := find_run_row(tx, workspace_id, run_id)) is None:
        raise UnknownRun(run_id)
    return row


def run_row_by_key(tx: Connection, run_key: int) -> RunRow:
    return RunRow.of(tx.execute(_BY_KEY, {"key": run_key}).one())


def lineage(tx: Connection, row: RunRow) -> tuple[int, ...]:
    """The run's key and those of its ancestors."""
    keys, parent = [row.key], row.parent_key
    while parent is not None:
        keys.append(parent)
        parent = tx.execute(_PARENT, {"key": parent}).scalar()
    return tuple(keys)


def descendants(tx: Connection, run_key: int) -> list[int]:
    """Keys of all runs below one, nearest first."""
    found: list[int] = []
    level = [run_key]
    while level:
        level = list(tx.execute(select(runs.c.key).where(runs.c.parent_key.in_(level))).scalars())
        found += level
    return found


def to_records(tx: Connection, rows: Iterable[RunRow], spool: str, *, whole: bool = False) -> list[RunRecord]:
    """`whole` adds what is left out of lists. `spool` is the folder below which interactive runs spool."""
    rows = list(rows)
    names = workspaces.experiment_names(tx, {row.experiment_id for row in rows})
    keys = {key for row in rows for key in (row.parent_key, row.root_key) if key is not None}
    ids: dict[int, str] = {}
    if keys:
        ids = {row.key: row.run_id for row in tx.execute(select(runs.c.key, runs.c.run_id).where(runs.c.key.in_(keys)))}
    return [_record(row, names[row.experiment_id], ids, spool, whole) for row in rows]


def _record(row: RunRow, experiment: str, ids: dict[int, str], spool: str, whole: bool) -> RunRecord:
    return RunRecord(
        run_id=row.run_id,
        workspace_id=row.workspace_id,
        experiment=experiment,
        number=row.number,
        state=RunState(row.state),
        reason=row.reason,
        attempt=row.attempt,
        events=row.events,
        created_by=row.created_by,
        created_ns=row.created_ns,
        type=row.type,
        target=row.target,
        nodes=row.nodes,
        parent_run_id=ids.get(row.parent_key) if row.parent_key is not None else None,
        root_run_id=ids.get(row.root_key) if row.root_key is not None else None,
        display_name=row.display_name,
        description=row.description,
        started_ns=row.started_ns,
        ended_ns=row.ended_ns,
        snapshot_id=row.snapshot_id,
        error=from_json(RunError, row.error) if row.error else None,
        warnings=tuple(row.warnings),
        tags=row.tags,
        properties=row.properties,
        spec=from_json(RunSpec, row.spec) if whole and row.spec else None,
        spool=f"{spool}/{row.key}" if row.spec is None else None,
    )
