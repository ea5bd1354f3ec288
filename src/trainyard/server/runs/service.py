"""What users do with runs: make, find, change, end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from trainyard.contract.codec import to_json
from trainyard.contract.errors import (
    AlreadyExists,
    Conflict,
    InvalidRequest,
    NotAllowed,
    RunEnded,
    TooManyNodes,
    UnknownBlob,
)
from trainyard.contract.names import check_name, new_run_id
from trainyard.contract.runs import (
    HYPERDRIVE,
    SCRIPT_RUN,
    NewRun,
    RunChange,
    RunError,
    RunEvent,
    RunQuery,
    RunRecord,
    RunSpec,
)
from trainyard.contract.states import TERMINAL, RunState
from trainyard.server.computes import service as computes
from trainyard.server.context import Context
from trainyard.server.credentials import sealed_spec
from trainyard.server.identity.service import Kind, Principal
from trainyard.server.runs import params
from trainyard.server.runs.decide import DEADLINES_S, SECOND, StopReason
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow, descendants, find_run_row, lineage, run_row, to_records
from trainyard.server.runs.tables import attempts, run_events, run_labels, runs
from trainyard.server.scope import Scope
from trainyard.server.secrets import Secrets
from trainyard.server.workspaces import service as workspaces

MAX_PAGE = 1000
_MOST_PORTS = 1000
_INSERT = insert(runs).returning(*runs.c)
_NOTE, _LABEL = insert(run_events), insert(run_labels)
_SUBMITTED = runs.c.spec.is_not(None) | (runs.c.type == HYPERDRIVE)
_EVENTS = select(runs.c.events).where(runs.c.key == bindparam("key"))


def create_run(
    tx: Connection, context: Context, principal: Principal, workspace_id: str, new: NewRun, asked: Any = None
) -> RunRecord:
    """Accept a run: after the commit it is never lost. A resend of the same request answers the same run. `asked`: what
    else is part of the request."""
    row = accept_run(tx, context, principal, workspace_id, new, asked)
    return to_records(tx, [row], context.settings.folder("spool"), whole=True)[0]


def accept_run(
    tx: Connection, context: Context, principal: Principal, workspace_id: str, new: NewRun, asked: Any = None
) -> RunRow:
    """The same, for those who need no record of it."""
    run_id = new.run_id or new_run_id(new.experiment, context.clock() / SECOND)
    check_name("a run", run_id)
    request = _digest(to_json(replace(new, run_id=run_id)), *([] if asked is None else [asked]))
    if (known := find_run_row(tx, workspace_id, run_id)) is not None:
        if known.request == request:
            return known
        raise AlreadyExists(f"Run {run_id!r} exists already. Choose another run_id, or leave it out.")
    parent = run_row(tx, workspace_id, new.parent_run_id) if new.parent_run_id else None
    if principal.kind is Kind.ATTEMPT and (parent is None or principal.run_key not in lineage(tx, parent)):
        raise NotAllowed(
            "A job may only make children of its own run. Use run.submit_child(...) or run.child_run(...)."
        )
    if new.spec is not None:
        check_spec(tx, context, workspace_id, new.spec)
        new = replace(new, spec=sealed_spec(new.spec, Secrets.of_home(context.settings)))
    now = context.clock()
    experiment = workspaces.ensure_experiment(tx, workspace_id, new.experiment, principal.name, now)
    first, reason = _first_state(new)
    row_values: dict[str, Any] = {
        "run_id": run_id,
        "workspace_id": workspace_id,
        "created_by": principal.name,
        "experiment_id": experiment.id,
        "number": workspaces.next_number(tx, experiment.id),
        "type": new.type or (SCRIPT_RUN if new.spec else None),
        "parent_key": parent.key if parent else None,
        "root_key": (parent.root_key or parent.key) if parent else None,
        "state": RunState.NOT_STARTED.value,
        "reason": "Accepted",
        "attempt": 0,
        "events": 1,
        "target": new.spec.target if new.spec else None,
        "nodes": new.spec.nodes if new.spec else 1,
        "display_name": new.display_name,
        "snapshot_id": new.spec.snapshot_id if new.spec else new.properties.get("ContentSnapshotId"),
        "warnings": [],
        "tags": new.tags,
        "properties": new.properties,
        "spec": to_json(new.spec) if new.spec else None,
        "request": request,
        "created_ns": now,
        "deadline_ns": now + DEADLINES_S[RunState.NOT_STARTED][0] * SECOND,
        "due_ns": now,
    }
    row = RunRow.of(tx.execute(_INSERT, row_values).one())
    _first_event(tx, row)
    _write_labels(tx, row, "tag", new.tags)
    _write_labels(tx, row, "property", new.properties)
    _write_params(tx, Scope(row.key, row.workspace_id, row.created_by), new)
    if first is not RunState.NOT_STARTED:
        row = Writer(tx, context.authenticator, now, principal.name).move(row, first, reason)
    return row


def _digest(*asked: Any) -> str:
    return hashlib.sha256("\n".join(json.dumps(each, sort_keys=True) for each in asked).encode()).hexdigest()


def _first_state(new: NewRun) -> tuple[RunState, str]:
    if new.spec is None and new.started:
        return RunState.RUNNING, "Opened for logging"
    return RunState.NOT_STARTED, "Accepted"


def check_spec(tx: Connection, context: Context, workspace_id: str, spec: RunSpec) -> None:
    """Everything that can be refused is refused before the run is queued."""
    if (spec.script is None) == (spec.command is None):
        raise InvalidRequest("A run needs a script or a command, and not both.")
    if spec.nodes < 1 or spec.max_duration_s < 1:
        raise InvalidRequest("node_count and max_run_duration_seconds must be at least 1.")
    if not 0 <= spec.min_nodes <= spec.nodes or spec.max_restarts < 0:
        raise InvalidRequest("min_nodes is at most nodes, and neither it nor max_restarts is below 0.")
    if not 0 <= spec.ports <= _MOST_PORTS or any(role.count < 0 for role in spec.roles):
        raise InvalidRequest(f"A node holds at most {_MOST_PORTS} ports, and no role has less than 0 processes.")
    capacity = computes.capacity(tx, workspace_id, spec.target)
    if (least := spec.min_nodes or spec.nodes) > capacity:
        raise TooManyNodes(spec.target, least, capacity)
    if spec.snapshot_id is not None and context.blobs.missing([spec.snapshot_id]):
        raise UnknownBlob(spec.snapshot_id)


def _first_event(tx: Connection, row: RunRow) -> None:
    owner = {"workspace_id": row.workspace_id, "created_by": row.created_by}
    first = {"sequence": 1, "time_ns": row.created_ns, "attempt": 0, "state": row.state, "reason": row.reason}
    tx.execute(_NOTE, {"run_key": row.key, **owner, **first})


def find_runs(tx: Connection, context: Context, workspace_id: str, query: RunQuery) -> list[RunRecord]:
    """One page, newest first."""
    wanted = select(runs).where(runs.c.workspace_id == workspace_id, runs.c.archived_ns.is_(None))
    if query.experiment is not None:
        experiment = workspaces.get_experiment(tx, workspace_id, query.experiment)
        wanted = wanted.where(runs.c.experiment_id == experiment.id)
    if query.parent_run_id is not None:
        parent = run_row(tx, workspace_id, query.parent_run_id)
        below = descendants(tx, parent.key) if query.recursive else None
        wanted = wanted.where(runs.c.key.in_(below) if below is not None else runs.c.parent_key == parent.key)
    elif not query.include_children:
        wanted = wanted.where(runs.c.parent_key.is_(None))
    if query.types:
        wanted = wanted.where(runs.c.type.in_(query.types))
    if query.states:
        wanted = wanted.where(runs.c.state.in_([state.value for state in query.states]))
    if query.target is not None:
        wanted = wanted.where(runs.c.target == query.target)
    for kind, labels in (("tag", query.tags), ("property", query.properties)):
        for name, value in labels.items():
            match = (run_labels.c.run_key == runs.c.key) & (run_labels.c.kind == kind) & (run_labels.c.name == name)
            if value is not None:
                match &= run_labels.c.value == value
            wanted = wanted.where(select(run_labels.c.run_key).where(match).exists())
    if query.after is not None:
        wanted = wanted.where(runs.c.key < run_row(tx, workspace_id, query.after).key)
    limit = max(1, min(query.limit, MAX_PAGE))
    rows = [RunRow.of(row) for row in tx.execute(wanted.order_by(runs.c.key.desc()).limit(limit))]
    return to_records(tx, rows, context.settings.folder("spool"))


def change_run(tx: Connection, row: RunRow, change: RunChange) -> None:
    """Tags may change at any time; a property is written once."""
    for name, value in change.add_properties.items():
        if name in row.properties and row.properties[name] != value:
            raise Conflict(
                f"Property {name!r} of run {row.run_id} is already set, and properties are written once. Use a tag."
            )
    kept = {name: value for name, value in row.tags.items() if name not in change.remove_tags}
    values: dict[str, Any] = {
        "tags": {**kept, **change.set_tags},
        "properties": {**row.properties, **change.add_properties},
    }
    if change.display_name is not None:
        values["display_name"] = change.display_name
    if change.description is not None:
        values["description"] = change.description
    tx.execute(update(runs).where(runs.c.key == row.key).values(**values))
    touched = [*change.set_tags, *change.remove_tags]
    here = (run_labels.c.run_key == row.key) & (run_labels.c.kind == "tag") & run_labels.c.name.in_(touched)
    tx.execute(delete(run_labels).where(here))
    _write_labels(tx, row, "tag", change.set_tags)
    fresh = {name: value for name, value in change.add_properties.items() if name not in row.properties}
    _write_labels(tx, row, "property", fresh)


def _write_labels(tx: Connection, row: RunRow, kind: str, labels: Mapping[str, str | None]) -> None:
    common = {"run_key": row.key, "workspace_id": row.workspace_id, "created_by": row.created_by, "kind": kind}
    if labels:
        heads = {name: value if value is None else value[: params.HEAD] for name, value in labels.items()}
        rows = [{**common, "name": name, "value": value, "head": heads[name]} for name, value in labels.items()]
        tx.execute(_LABEL, rows)


def _write_params(tx: Connection, scope: Scope, new: NewRun) -> None:
    given = params.of_arguments(new.spec.arguments) if new.spec is not None else {}
    params.first_params(tx, scope, given, new.params)


def start_run(writer: Writer, row: RunRow) -> None:
    if row.spec is not None:
        raise Conflict(f"Run {row.run_id} was submitted: it starts by itself when its nodes are free.")
    if RunState(row.state) is not RunState.RUNNING:
        writer.move(row, RunState.RUNNING, "Started")


def end_run(writer: Writer, row: RunRow, to: RunState, reason: str, error: RunError | None = None) -> None:
    """complete() and fail(), said by whoever owns the run; processes it still has are ended. Saying it twice changes
    nothing."""
    state = RunState(row.state)
    if state is to:
        return
    if state in TERMINAL:
        raise RunEnded(row.run_id, state)
    if state is RunState.NOT_STARTED and to is RunState.COMPLETED and row.spec is None:
        row = writer.move(row, RunState.RUNNING, "Started")
    writer.move(row, to, reason, error)


def cancel_run(writer: Writer, row: RunRow) -> list[int]:
    """Ask for the end of a run and of everything below it; answers the keys of the runs that it changed."""
    changed = []
    keys = [row.key, *descendants(writer.tx, row.key)]
    for found in writer.tx.execute(select(runs).where(runs.c.key.in_(keys)).order_by(runs.c.key)).all():
        member = RunRow.of(found)
        state = RunState(member.state)
        if state in TERMINAL or state in (RunState.CANCEL_REQUESTED, RunState.FINALIZING):
            continue
        changed.append(member.key)
        after = writer.move(member, RunState.CANCEL_REQUESTED, f"Cancel requested by {writer.actor}")
        alive = (attempts.c.run_key == member.key) & attempts.c.ended_ns.is_(None)
        stopping = update(attempts).where(alive).values(stop=StopReason.CANCEL.value)
        placed = writer.tx.execute(stopping).rowcount > 0
        if not placed and member.type != HYPERDRIVE:  # nothing was placed for it: there is nothing to wait for
            writer.move(after, RunState.CANCELED, f"Canceled by {writer.actor}")
        else:
            writer.tx.execute(update(runs).where(runs.c.key == member.key).values(due_ns=writer.now_ns))
    return changed


def events_of(tx: Connection, run_key: int) -> int:
    """How long the run's history is."""
    return int(tx.execute(_EVENTS, {"key": run_key}).scalar_one())


def run_history(tx: Connection, run_key: int) -> list[RunEvent]:
    rows = tx.execute(select(run_events).where(run_events.c.run_key == run_key).order_by(run_events.c.sequence))
    return [
        RunEvent(row.sequence, row.time_ns, row.attempt, RunState(row.state), row.reason, row.created_by)
        for row in rows
    ]


def active_runs(tx: Connection) -> int:
    """Submitted runs that are not over: what keeps the service from stopping by itself."""
    live = [state.value for state in RunState if state not in TERMINAL]
    return len(tx.execute(select(runs.c.key).where(runs.c.state.in_(live), _SUBMITTED)).all())


def live_run(tx: Connection, workspace_id: str, experiment_id: str | None = None) -> RunRow | None:
    """One that is not over, of a workspace or an experiment: hidden, or below another, it lives all the same."""
    live = [state.value for state in RunState if state not in TERMINAL]
    here = (runs.c.workspace_id == workspace_id) & runs.c.state.in_(live)
    if experiment_id is not None:
        here &= runs.c.experiment_id == experiment_id
    row = tx.execute(select(runs).where(here).limit(1)).first()
    return None if row is None else RunRow.of(row)


def uses_target(tx: Connection, workspace_id: str, target: str) -> list[str]:
    """Active runs of a compute target."""
    live = [state.value for state in RunState if state not in TERMINAL]
    here = (runs.c.workspace_id == workspace_id) & (runs.c.target == target) & runs.c.state.in_(live)
    return list(tx.execute(select(runs.c.run_id).where(here)).scalars())


def cancel_all(writer: Writer) -> None:
    """Ask for the end of every submitted run, in every workspace."""
    live = [state.value for state in RunState if state not in TERMINAL]
    for row in writer.tx.execute(select(runs).where(runs.c.state.in_(live), _SUBMITTED)).all():
        cancel_run(writer, RunRow.of(row))


def preempt_attempts(tx: Connection, attempt_ids: Iterable[str], now_ns: int) -> list[str]:
    """End attempts whose nodes are taken away, so that their runs get new ones; answers the runs' ids."""
    hit = []
    for attempt_id in attempt_ids:
        alive = (attempts.c.attempt_id == attempt_id) & attempts.c.ended_ns.is_(None) & attempts.c.stop.is_(None)
        if tx.execute(update(attempts).where(alive).values(stop=StopReason.PREEMPT.value)).rowcount == 1:
            run_key = tx.execute(select(attempts.c.run_key).where(attempts.c.attempt_id == attempt_id)).scalar_one()
            tx.execute(update(runs).where(runs.c.key == run_key).values(due_ns=now_ns))
            hit.append(tx.execute(select(runs.c.run_id).where(runs.c.key == run_key)).scalar_one())
    return hit


def archive_run(tx: Connection, row: RunRow, at_ns: int | None) -> None:
    """Hide a run from lists, or (None) show it again. It and all it has stay."""
    tx.execute(update(runs).where(runs.c.key == row.key).values(archived_ns=at_ns))
