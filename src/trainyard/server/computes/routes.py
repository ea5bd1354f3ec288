"""Compute targets over HTTP."""

from __future__ import annotations

from fastapi import APIRouter, Request

from trainyard.contract.computes import AttachCompute, ComputeChange, ComputeRecord, ComputeStatus, NewCompute
from trainyard.contract.service import API
from trainyard.server.computes import attached, service
from trainyard.server.context import context_of, principal_of
from trainyard.server.runs import service as runs
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API + "/workspaces/{workspace_id}/computes", tags=["computes"])


@router.post("")
def create(request: Request, workspace_id: str, new: NewCompute) -> ComputeRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("make compute targets")
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        record = service.create(tx, workspace_id, principal.name, new, context.machine, context.clock())
    context.wake.set()
    return record


@router.post("/attach")
def attach(request: Request, workspace_id: str, new: AttachCompute) -> ComputeRecord:
    """Reach a machine over SSH and make it a target. What is wrong with it is told before anything is written."""
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("attach compute targets")
    attached.check(new)
    with context.db.read() as tx:
        workspaces.get_workspace(tx, workspace_id)
    machine = context.backends.probe(new)
    secret = context.backends.encrypted(new)
    with context.db.write() as tx:
        return attached.attach(tx, workspace_id, principal.name, new, machine, secret, context.clock())


@router.get("")
def list_all(request: Request, workspace_id: str) -> list[ComputeRecord]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.list_all(tx, workspace_id)


@router.get("/{name}")
def get(request: Request, workspace_id: str, name: str) -> ComputeRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get(tx, workspace_id, name)


@router.get("/{name}/status")
def status(request: Request, workspace_id: str, name: str) -> ComputeStatus:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        return service.status(tx, workspace_id, name, context.clock())


@router.patch("/{name}")
def change(request: Request, workspace_id: str, name: str, change: ComputeChange) -> ComputeRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("change compute targets")
    with context.db.write() as tx:
        record = service.change(tx, workspace_id, name, change, context.clock())
    context.wake.set()  # a higher maximum may be what a queued run waits for
    return record


@router.delete("/{name}")
def remove(request: Request, workspace_id: str, name: str) -> None:
    principal_of(request).require_owner("delete compute targets")
    context = context_of(request)
    with context.db.write() as tx:
        compute_id = service.get(tx, workspace_id, name).id
        service.remove(tx, workspace_id, name, runs.uses_target(tx, workspace_id, name))
    attached.forget(context.backends, compute_id)


@router.post("/{name}/preempt")
def preempt(request: Request, workspace_id: str, name: str, node_id: str | None = None) -> list[str]:
    """Takes a low-priority node away; answers the runs it hit, which get a new attempt."""
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("preempt nodes")
    with context.db.write() as tx:
        now = context.clock()
        hit = runs.preempt_attempts(tx, service.preempt(tx, workspace_id, name, node_id, now), now)
    context.wake.set()
    return hit
