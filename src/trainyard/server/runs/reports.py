"""What agents say: arrivals and reports, applied once however often they are sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select, update

from trainyard.contract.attempts import Arrival, NodeEnded, Orders, Peer, ReportAnswer
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.data import DataUse
from trainyard.contract.errors import AttemptOver, InvalidRequest, NotAllowed
from trainyard.contract.frames import Frame
from trainyard.contract.names import check_file_name
from trainyard.contract.runs import RunFile, RunSpec
from trainyard.contract.states import RunState
from trainyard.server.context import Context
from trainyard.server.credentials import opened_environment
from trainyard.server.data import service as data
from trainyard.server.identity.service import Principal
from trainyard.server.metrics import service as metrics
from trainyard.server.runs.advance import advance
from trainyard.server.runs.decide import StopReason
from trainyard.server.runs.files import add_files
from trainyard.server.runs.ranks import note_starts
from trainyard.server.runs.records import run_row_by_key
from trainyard.server.runs.tables import attempt_nodes, attempts, runs
from trainyard.server.scope import Scope
from trainyard.server.secrets import Secrets
from trainyard.server.workspaces import service as workspaces

_PREPARING_NS = 86_400 * 1_000_000_000  # how long nodes may fetch code, environment and data

# Made once: building a statement costs more than running it.
_ATTEMPT = select(attempts).where(attempts.c.attempt_id == bindparam("attempt_id"))
_NODES = (
    select(attempt_nodes).where(attempt_nodes.c.attempt_id == bindparam("attempt_id")).order_by(attempt_nodes.c.node)
)
_NODE = update(attempt_nodes).where(
    attempt_nodes.c.attempt_id == bindparam("old_id"), attempt_nodes.c.node == bindparam("old_node")
)

_HAVE_MET = update(runs).where(runs.c.key == bindparam("old_key"), runs.c.state == RunState.STARTING.value)


def record_arrival(context: Context, principal: Principal, attempt_id: str, arrival: Arrival) -> tuple[int, Orders]:
    """Note that a node's agent is up; answers the run's key, and what the node is to do."""
    with context.db.write() as tx:
        attempt = _own_attempt(tx, principal, attempt_id)
        here = {"old_id": attempt_id, "old_node": arrival.node}
        values: dict[str, Any] = {
            "host": arrival.host,
            "address": arrival.address,
            "pid": arrival.pid,
            "ports": list(arrival.ports),
        }
        values["arrived_ns"] = now_ns = context.clock()
        if tx.execute(_NODE, {**here, **values}).rowcount != 1:
            raise InvalidRequest(f"Attempt {attempt_id} has no node {arrival.node}.")
        members = tx.execute(_NODES, {"attempt_id": attempt_id}).all()
        if all(member.arrived_ns is not None for member in members):
            # they have met; fetching data may take them longer than meeting may
            tx.execute(_HAVE_MET, {"old_key": attempt.run_key, "deadline_ns": now_ns + _PREPARING_NS})
        orders = _orders(tx, context, attempt, members, arrival.node)
    context.pulse.beat(attempt_id)
    run_key: int = attempt.run_key
    context.hub.notify(run_key)
    return run_key, orders


def orders_for(context: Context, attempt_id: str, node: int) -> Orders:
    """What a node is to do: wait (`go` False) until every node of the attempt has arrived."""
    with context.db.read() as tx:
        attempt = tx.execute(_ATTEMPT, {"attempt_id": attempt_id}).one()
        return _orders(tx, context, attempt, tx.execute(_NODES, {"attempt_id": attempt_id}).all(), node)


def _orders(tx: Connection, context: Context, attempt: Row[Any], members: Sequence[Row[Any]], node: int) -> Orders:
    if attempt.stop is not None or attempt.ended_ns is not None:
        return Orders(go=False, cancel=True)
    if any(member.arrived_ns is None for member in members):
        return Orders(go=False)
    row = run_row_by_key(tx, attempt.run_key)
    workspace = workspaces.get_workspace(tx, row.workspace_id)
    experiment = workspaces.experiment_names(tx, {row.experiment_id})[row.experiment_id]
    spec = from_json(RunSpec, row.spec)
    environment = opened_environment(spec.environment, Secrets.of_home(context.settings))
    return Orders(
        go=True,
        run_id=row.run_id,
        attempt=attempt.number,
        workspace_id=row.workspace_id,
        workspace_name=workspace.name,
        subscription_id=workspace.subscription_id,
        resource_group=workspace.resource_group,
        experiment=experiment,
        experiment_id=row.experiment_id,
        target_kind=row.properties.get("_azureml.ComputeTargetType", row.target or ""),
        spec=replace(spec, environment=environment),
        peers=tuple(_peer(member) for member in members),
        gpus=tuple(members[node].gpus),
        restore_outputs=attempt.number > 1,
        deadline_ns=context.clock() + spec.max_duration_s * 1_000_000_000,
        private_addresses=context.settings.allow_private_addresses,
    )


def apply_report(
    context: Context, principal: Principal, attempt_id: str, node: int, frames: list[Frame]
) -> ReportAnswer:
    """Take in streams first, then news, so that whoever sees the end of a run sees all it wrote."""
    with context.db.read() as tx:
        attempt = _own_attempt(tx, principal, attempt_id)
    context.pulse.beat(attempt_id)
    acked: dict[str, int] = {}
    for frame in frames:
        if frame.kind == "log":
            name = check_file_name(frame.header["stream"])
            offset = int(frame.header["offset"])
            acked[name] = context.logs.append(attempt.run_key, attempt.number, name, offset, frame.payload)
    news = [frame for frame in frames if frame.kind != "log"]
    if news:
        with context.db.write() as tx:
            attempt = _own_attempt(tx, principal, attempt_id)
            acked |= _apply_news(tx, context, attempt, node, news)
        context.hub.notify(attempt.run_key)
    done = attempt.stop == StopReason.DONE.value
    return ReportAnswer(acked, attempt.stop is not None and not done, attempt.stop or "", done)


def _peer(member: Row[Any]) -> Peer:
    return Peer(member.node, member.host, member.address, tuple(member.ports or ()))


def _own_attempt(tx: Connection, principal: Principal, attempt_id: str) -> Row[Any]:
    if principal.attempt_id != attempt_id:
        raise NotAllowed("Only an attempt's own agents report for it.")
    attempt = tx.execute(_ATTEMPT, {"attempt_id": attempt_id}).first()
    if attempt is None or attempt.ended_ns is not None:
        raise AttemptOver(principal.name, attempt.number if attempt is not None else 0)
    return attempt


def _apply_news(tx: Connection, context: Context, attempt: Row[Any], node: int, frames: list[Frame]) -> dict[str, int]:
    acked: dict[str, int] = {}
    scope = Scope(attempt.run_key, attempt.workspace_id, attempt.created_by)
    changes: dict[str, Any] = {}
    starts: dict[int, int] = {}
    for frame in frames:
        match frame.kind:
            case "metrics":
                stream, offset = str(frame.header["stream"]), int(frame.header["offset"])
                acked[stream] = metrics.apply_cells(tx, scope, attempt.number, stream, offset, frame.payload)
            case "system":
                stream, offset = str(frame.header["stream"]), int(frame.header["offset"])
                measured = replace(scope, run_key=metrics.of_system(scope.run_key))
                acked[stream] = metrics.apply_cells(tx, measured, attempt.number, stream, offset, frame.payload)
            case "started":
                # the node's own time: the news of a short run's start comes with its end
                now_ns = context.clock()
                changes["started_ns"] = min(now_ns, max(attempt.created_ns, int(frame.header.get("time_ns", now_ns))))
            case "ranks":
                starts = {int(rank): int(at) for rank, at in dict(frame.header["started"]).items()}
            case "done":
                changes["done"] = True
            case "ended":
                ended = from_json(NodeEnded, frame.header)
                changes |= {"ended": to_json(ended), "ended_ns": context.clock()}
                if ended.error is not None:
                    _stop_the_others(tx, attempt)
            case "files":
                files = from_json(list[RunFile], json.loads(frame.payload))
                add_files(tx, context, scope, files, node)
            case "data":
                uses = from_json(list[DataUse], json.loads(frame.payload))
                run_id = run_row_by_key(tx, attempt.run_key).run_id
                data.note_uses(tx, scope, [replace(use, run_id=run_id) for use in uses], context.clock())
            case "final":
                changes["final"] = True
            case unknown:
                raise InvalidRequest(f"A report has no frames of kind {unknown!r}.")
    if changes:
        tx.execute(_NODE, {"old_id": attempt.attempt_id, "old_node": node, **changes})
        if "done" in changes or "ended" in changes:
            _release_those_that_serve(tx, attempt)
        row = advance(tx, context, run_row_by_key(tx, attempt.run_key))
        if RunState(row.state) not in (RunState.STARTING, RunState.RUNNING) or "ended" in changes:
            context.wake.set()  # nodes have become free, or others are to be stopped
    if starts:
        nodes = len(tx.execute(_NODES, {"attempt_id": attempt.attempt_id}).all())
        note_starts(tx, context, run_row_by_key(tx, attempt.run_key), attempt, nodes, node, starts)
    return acked


def _release_those_that_serve(tx: Connection, attempt: Row[Any]) -> None:
    """When every process that a node waits for has ended well, on all nodes, the others are not needed any more."""
    members = tx.execute(_NODES, {"attempt_id": attempt.attempt_id}).all()
    if any(member.done for member in members) and all(member.done or _ended_well(member.ended) for member in members):
        here = (attempts.c.attempt_id == attempt.attempt_id) & attempts.c.stop.is_(None)
        tx.execute(update(attempts).where(here).values(stop=StopReason.DONE.value))


def _ended_well(ended: dict[str, Any] | None) -> bool:
    return ended is not None and from_json(NodeEnded, ended).error is None


def _stop_the_others(tx: Connection, attempt: Row[Any]) -> None:
    """One failed node ends the attempt on all of them."""
    here = (attempts.c.attempt_id == attempt.attempt_id) & attempts.c.stop.is_(None)
    tx.execute(update(attempts).where(here).values(stop=StopReason.FAIL.value))
    tx.execute(update(runs).where(runs.c.key == attempt.run_key).values(due_ns=attempt.created_ns))
