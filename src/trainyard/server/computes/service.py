"""Compute targets and their logical nodes. Every function works in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from trainyard.backends import BACKENDS
from trainyard.contract.computes import (
    ComputeChange,
    ComputeRecord,
    ComputeStatus,
    NewCompute,
    NodeRecord,
    NodeShape,
    Priority,
)
from trainyard.contract.errors import AlreadyExists, Conflict, InvalidRequest, NotFound, UnknownCompute
from trainyard.contract.names import check_name, new_id
from trainyard.contract.runs import LOCAL_TARGET
from trainyard.server.computes.decide import Limits, NodeState, NodeView, allocation, deal, most_at_once, scaling
from trainyard.server.computes.machine import Machine, this_machine
from trainyard.server.computes.sizes import DEFAULT, capped, shape_of
from trainyard.server.computes.tables import computes, nodes

RESERVED = frozenset({"amlcompute", "local", "containerinstance"})
MOST_NODES = 1000
FOR_SERVICES = "AKS"  # the kind of target that runs no jobs
_LOCAL = ""  # the compute_id of nodes of the target `local`
_SECOND = 1_000_000_000


# Made once: building a statement costs more than running it.
_LEAVING = nodes.c.state.in_([NodeState.PREEMPTED.value, NodeState.LEAVING.value])
_MINE = nodes.c.attempt_id == bindparam("mine")
_NODES_OF = (
    select(nodes).where(nodes.c.compute_id == bindparam("compute_id")).order_by(nodes.c.since_ns, nodes.c.node_id)
)
_BY_NAME = (
    select(computes)
    .where(computes.c.workspace_id == bindparam("workspace_id"), computes.c.name == bindparam("name"))
    .with_for_update()
)
_LOST_BY = select(nodes.c.compute_id).where(_MINE & _LEAVING).distinct()
_REMOVE = delete(nodes).where(_MINE & (_LEAVING | (nodes.c.compute_id == _LOCAL)))
_FREE = update(nodes).where(_MINE)
_ADD = insert(nodes)
_TAKE = update(nodes).where(nodes.c.node_id == bindparam("old_id"))


@dataclass(frozen=True)
class Node:
    """What an attempt gets."""

    node_id: str
    gpus: tuple[str, ...]


def create(
    tx: Connection, workspace_id: str, principal: str, new: NewCompute, machine: Machine, now_ns: int
) -> ComputeRecord:
    """Make a target, or bring the one of that name, kind and node size to these limits."""
    check_new(new)
    old = _row(tx, workspace_id, new.name)
    if old is not None and old.kind != new.kind:
        raise AlreadyExists(
            f"There is a compute target {new.name!r} already, of type {old.kind}. Choose another name, or delete it."
        )
    values = {**_settings(new, machine), "modified_ns": now_ns}
    if old is not None and (old.vm_size, old.priority) != (values["vm_size"], values["priority"]):
        raise AlreadyExists(
            f"There is a compute target {new.name!r} already, with {old.priority} nodes of {old.vm_size}; these do not "
            "change. Choose another name, or delete it first."
        )
    if old is not None:
        tx.execute(update(computes).where(computes.c.compute_id == old.compute_id).values(**values))
    else:
        owner = {"workspace_id": workspace_id, "created_by": principal}
        fresh = {"compute_id": new_id(), "name": new.name, "created_ns": now_ns, "changed_ns": now_ns}
        tx.execute(insert(computes).values(**fresh, **owner, **values))
    _scale(tx, _get(tx, workspace_id, new.name), now_ns)
    return get(tx, workspace_id, new.name)


def find(tx: Connection, workspace_id: str, name: str) -> ComputeRecord | None:
    row = _row(tx, workspace_id, name)
    return None if row is None else _record(row)


def get(tx: Connection, workspace_id: str, name: str) -> ComputeRecord:
    return _record(_get(tx, workspace_id, name))


def list_all(tx: Connection, workspace_id: str) -> list[ComputeRecord]:
    here = select(computes).where(computes.c.workspace_id == workspace_id).order_by(computes.c.name)
    return [_record(row) for row in tx.execute(here)]


def change(tx: Connection, workspace_id: str, name: str, change: ComputeChange, now_ns: int) -> ComputeRecord:
    row = _get(tx, workspace_id, name)
    given = {field: value for field, value in vars(change).items() if value is not None}
    after = {field: given.get(field, getattr(row, field)) for field in ("min_nodes", "max_nodes", "idle_seconds")}
    _check_limits(**after)
    if given:
        values = {**given, "modified_ns": now_ns}
        tx.execute(update(computes).where(computes.c.compute_id == row.compute_id).values(**values))
        _scale(tx, _get(tx, workspace_id, name), now_ns)
    return get(tx, workspace_id, name)


def remove(tx: Connection, workspace_id: str, name: str, used_by: Sequence[str]) -> None:
    """`used_by`: the active runs of the target, which are not to lose it."""
    row = _get(tx, workspace_id, name)
    held = set(tx.execute(select(nodes.c.run_id).where(nodes.c.compute_id == row.compute_id)).scalars()) - {None}
    if using := sorted({*used_by, *held}):
        some = ", ".join(using[:3]) + (" …" if len(using) > 3 else "")
        raise Conflict(f"Compute target {name!r} is used by {some}. Wait for them or cancel them, then delete it.")
    tx.execute(delete(nodes).where(nodes.c.compute_id == row.compute_id))
    tx.execute(delete(computes).where(computes.c.compute_id == row.compute_id))


def remove_all(tx: Connection, workspace_id: str) -> list[str]:
    """The workspace goes, and its targets with it; answers their ids. No run of it is active any more."""
    mine = select(computes.c.compute_id).where(computes.c.workspace_id == workspace_id)
    gone = list(tx.execute(mine).scalars())
    for table in (nodes, computes):
        tx.execute(delete(table).where(table.c.compute_id.in_(gone)))
    return gone


def status(tx: Connection, workspace_id: str, name: str, now_ns: int) -> ComputeStatus:
    """The target with its nodes. A node whose time is up is gone, whether or not `scale` has come by."""
    row = _get(tx, workspace_id, name)
    found = _node_rows(tx, row.compute_id)
    planned = scaling([_view(node) for node in found], _limits(row), now_ns)
    left = [node for node in found if node.node_id not in planned.drop or node.state == NodeState.PREEMPTED]
    staying = [node for node in left if node.state not in (NodeState.PREEMPTED, NodeState.LEAVING)]
    return ComputeStatus(
        compute=_record(row),
        nodes=tuple(NodeRecord(node.node_id, node.state, node.run_id, node.since_ns) for node in left),
        target_nodes=max(row.min_nodes, len(staying)),
        steady=len(staying) == len(left) and not planned.rise,
        changed_ns=row.changed_ns,
    )


def preempt(tx: Connection, workspace_id: str, name: str, node_id: str | None, now_ns: int) -> list[str]:
    """Take a low-priority node away (the busy one that started last, unless named); answers the attempts it hits. It is
    gone once its attempt is."""
    row = _get(tx, workspace_id, name)
    if row.priority != Priority.LOW:
        raise InvalidRequest(
            f"The nodes of {name!r} are dedicated and are never taken away. Make a target with "
            "vm_priority='lowpriority' to try what a preemption does."
        )
    there = [node for node in _node_rows(tx, row.compute_id) if node.state != NodeState.PREEMPTED]
    chosen = [node for node in there if node_id in (None, node.node_id)]
    if not chosen:
        up = ", ".join(node.node_id for node in there) or "none"
        wanted = f"node {node_id!r}" if node_id else "node that could be taken away"
        raise NotFound(f"Compute target {name!r} has no {wanted} (up: {up}). See `trainyard compute show {name}`.")
    taken = max(chosen, key=lambda node: (node.attempt_id is not None, node.since_ns))
    lost = {"state": NodeState.PREEMPTED.value, "since_ns": now_ns}
    tx.execute(update(nodes).where(nodes.c.node_id == taken.node_id).values(**lost))
    _note_change(tx, row.compute_id, now_ns)
    return [taken.attempt_id] if taken.attempt_id is not None else []


def capacity(tx: Connection, workspace_id: str, target: str, machine: Machine | None = None) -> int:
    """The most nodes one run can get of a target."""
    machine = machine or this_machine()
    if target == LOCAL_TARGET:
        return machine.local_nodes
    row = _get(tx, workspace_id, target)
    if row.kind == FOR_SERVICES:
        raise InvalidRequest(
            f"Compute target {target!r} is an AksCompute: services are deployed to it, and runs are not submitted. "
            "Make a cluster with AmlCompute.provisioning_configuration(...)."
        )
    return int(row.max_nodes)


def room(tx: Connection, workspace_id: str, target: str, nodes: int, machine: Machine | None = None) -> int:
    """How many runs of so many nodes a target can have up at once."""
    machine = machine or this_machine()
    most = capacity(tx, workspace_id, target, machine)
    if target == LOCAL_TARGET or (row := _get(tx, workspace_id, target)).connection is not None:
        return most // nodes
    return max(most_at_once(most, row.gpus, len(machine.gpus)) // nodes, 1 if nodes <= most else 0)


def kind_of(tx: Connection, workspace_id: str, target: str) -> str:
    """The SDK's type string of a target."""
    kind: str = _get(tx, workspace_id, target).kind
    return kind


def backend_of(tx: Connection, workspace_id: str, target: str) -> str:
    if target == LOCAL_TARGET:
        return "local"
    row = _get(tx, workspace_id, target)
    backend: str = row.backend
    return backend if row.connection is None else f"{backend}:{row.compute_id}"  # each machine is one of its own


def allocate(
    tx: Connection,
    workspace_id: str,
    target: str,
    attempt_id: str,
    run_id: str,
    wanted: int,
    exempt: bool,
    now_ns: int,
    machine: Machine | None = None,
    least: int | None = None,
) -> tuple[Node, ...] | None:
    """Nodes for an attempt: all that are wanted, or as many as are free and no fewer than `least`; else none.
    `exempt`: a child waits for no node of `local` that its parent holds."""
    machine = machine or this_machine()
    row = None if target == LOCAL_TARGET else _get(tx, workspace_id, target)
    compute_id = _LOCAL if row is None else row.compute_id
    there = [_view(node) for node in _node_rows(tx, compute_id)]
    most = row.max_nodes if row is not None else len(there) + wanted if exempt else machine.local_nodes
    plan = allocation(there, most, wanted, least)
    gpus = None if plan is None else _deal(tx, row, machine, len(plan.take) + plan.rise)
    if plan is None or gpus is None:
        return None
    named = [*plan.take, *(_node_name(target) for _ in range(plan.rise))]
    held = {"state": NodeState.RUNNING.value, "since_ns": now_ns, "attempt_id": attempt_id, "run_id": run_id}
    owner = {"workspace_id": workspace_id, "created_by": row.created_by if row is not None else run_id}
    for at, node_id in enumerate(named):
        values = {**held, "gpus": list(gpus[at])}
        if at < len(plan.take):
            tx.execute(_TAKE, {"old_id": node_id, **values})
        else:
            tx.execute(_ADD, {"node_id": node_id, "compute_id": compute_id, **owner, **values})
    if plan.rise and row is not None:
        _note_change(tx, compute_id, now_ns)
    return tuple(Node(node_id, gpus[at]) for at, node_id in enumerate(named))


def release(tx: Connection, attempt_id: str, now_ns: int) -> None:
    """The attempt is over: its nodes are idle, or gone if they were taken away. Releasing twice changes nothing."""
    mine = {"mine": attempt_id}
    for compute_id in tx.execute(_LOST_BY, mine).scalars().all():
        _note_change(tx, compute_id, now_ns)
    tx.execute(_REMOVE, mine)
    idle = {"state": NodeState.IDLE.value, "since_ns": now_ns, "attempt_id": None, "run_id": None, "gpus": []}
    tx.execute(_FREE, {**mine, **idle})


def scale(tx: Connection, now_ns: int) -> int | None:
    """Bring every target to its limits; answers when the next idle node's time is up."""
    due = [_scale(tx, row, now_ns) for row in tx.execute(select(computes)).all()]
    return min((time_ns for time_ns in due if time_ns is not None), default=None)


def check_new(new: NewCompute) -> None:
    check_name("a compute target", new.name)
    if new.name.lower() in RESERVED:
        raise InvalidRequest(f"{new.name!r} is reserved: {', '.join(sorted(RESERVED))}. Choose another name.")
    if new.backend not in BACKENDS:
        raise InvalidRequest(f"No backend named {new.backend!r}. Use one of: {', '.join(sorted(BACKENDS))}.")
    _check_limits(new.min_nodes, new.max_nodes, new.idle_seconds)


def _check_limits(min_nodes: int, max_nodes: int, idle_seconds: int) -> None:
    if not 1 <= max_nodes <= MOST_NODES:
        raise InvalidRequest(f"max_nodes is {max_nodes}; choose a number from 1 to {MOST_NODES}.")
    if not 0 <= min_nodes <= max_nodes:
        raise InvalidRequest(f"min_nodes is {min_nodes}; choose a number from 0 to max_nodes ({max_nodes}).")
    if not 0 <= idle_seconds <= 10**9:
        raise InvalidRequest(f"idle_seconds_before_scaledown is {idle_seconds}; choose a number of seconds from 0 up.")


def _settings(new: NewCompute, machine: Machine) -> dict[str, Any]:
    wanted = shape_of(new.vm_size)  # as it was written: so a refusal names it
    vm_size = (new.vm_size or DEFAULT).strip().upper()
    shape, warnings = capped(vm_size, wanted, machine.cores, machine.memory_gb, len(machine.gpus))
    at_once = most_at_once(new.max_nodes, shape.gpus, len(machine.gpus))
    if at_once < new.max_nodes:
        warnings.append(
            f"This machine has GPUs for {at_once} node(s) of {vm_size}, so {at_once} of max_nodes={new.max_nodes} can "
            "be up at once; the nodes of one run that asks for more share them. Choose a vm_size with fewer GPUs to "
            "run more."
        )
    return {
        "kind": new.kind,
        "backend": new.backend,
        "vm_size": vm_size,
        "cores": shape.cores,
        "memory_gb": shape.memory_gb,
        "gpus": shape.gpus,
        "priority": Priority(new.priority).value,
        "min_nodes": new.min_nodes,
        "max_nodes": new.max_nodes,
        "idle_seconds": new.idle_seconds,
        "description": new.description,
        "tags": dict(new.tags),
        "warnings": warnings,
    }


def _row(tx: Connection, workspace_id: str, name: str) -> Row[Any] | None:
    return tx.execute(_BY_NAME, {"workspace_id": workspace_id, "name": name}).first()


def _get(tx: Connection, workspace_id: str, name: str) -> Row[Any]:
    if (row := _row(tx, workspace_id, name)) is None:
        known = tx.execute(select(computes.c.name).where(computes.c.workspace_id == workspace_id)).scalars()
        raise UnknownCompute(name, known)
    return row


def _record(row: Row[Any]) -> ComputeRecord:
    return ComputeRecord(
        id=row.compute_id,
        workspace_id=row.workspace_id,
        name=row.name,
        kind=row.kind,
        backend=row.backend,
        vm_size=row.vm_size,
        shape=NodeShape(row.cores, row.memory_gb, row.gpus),
        priority=Priority(row.priority),
        min_nodes=row.min_nodes,
        max_nodes=row.max_nodes,
        idle_seconds=row.idle_seconds,
        created_by=row.created_by,
        created_ns=row.created_ns,
        modified_ns=row.modified_ns,
        description=row.description,
        tags=row.tags,
        warnings=tuple(row.warnings),
        address=row.connection["address"] if row.connection else None,
        ssh_port=row.connection["port"] if row.connection else None,
        username=row.connection["username"] if row.connection else None,
    )


def _node_rows(tx: Connection, compute_id: str) -> list[Row[Any]]:
    return list(tx.execute(_NODES_OF, {"compute_id": compute_id}).all())


def _view(row: Row[Any]) -> NodeView:
    return NodeView(row.node_id, NodeState(row.state), row.since_ns, row.attempt_id is not None)


def _limits(row: Row[Any]) -> Limits:
    return Limits(row.min_nodes, row.max_nodes, row.idle_seconds * _SECOND)


def _node_name(target: str) -> str:
    return f"{target}-{new_id()[:8]}"


def _deal(tx: Connection, row: Row[Any] | None, machine: Machine, wanted: int) -> tuple[tuple[str, ...], ...] | None:
    """A target's nodes get GPUs of their own. A run on `local` sees what is left, shared with the other local runs, as
    a script started by hand on this machine would."""
    if not machine.gpus or (row is not None and row.connection is not None):
        return ((),) * wanted  # there are none, or they are another machine's: all of its are its node's
    held = {
        gpu for gpus in tx.execute(select(nodes.c.gpus).where(nodes.c.compute_id != _LOCAL)).scalars() for gpu in gpus
    }
    if row is None:
        return (tuple(gpu for gpu in machine.gpus if gpu not in held),) * wanted
    return deal(machine.gpus, held, row.gpus, wanted)


def _scale(tx: Connection, row: Row[Any], now_ns: int) -> int | None:
    plan = scaling([_view(node) for node in _node_rows(tx, row.compute_id)], _limits(row), now_ns)
    if plan.drop:
        tx.execute(delete(nodes).where(nodes.c.node_id.in_(plan.drop)))
    if plan.rise:
        fresh = {"compute_id": row.compute_id, "state": NodeState.IDLE.value, "since_ns": now_ns, "gpus": []}
        owner = {"workspace_id": row.workspace_id, "created_by": row.created_by}
        risen = [{"node_id": _node_name(row.name), **fresh, **owner} for _ in range(plan.rise)]
        tx.execute(insert(nodes), risen)
    if plan.drop or plan.rise:
        _note_change(tx, row.compute_id, now_ns)
    return plan.due_ns


def _note_change(tx: Connection, compute_id: str, now_ns: int) -> None:
    tx.execute(update(computes).where(computes.c.compute_id == compute_id).values(changed_ns=now_ns))
