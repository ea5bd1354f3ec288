"""Workspaces and experiments over HTTP."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy import Connection

from trainyard.contract.errors import Conflict
from trainyard.contract.runs import ExperimentRecord, WorkspaceRecord
from trainyard.contract.service import API
from trainyard.server.computes import attached
from trainyard.server.computes import service as computes
from trainyard.server.context import context_of, principal_of
from trainyard.server.data import service as data
from trainyard.server.data import stores
from trainyard.server.endpoints import service as endpoints
from trainyard.server.environments import service as environments
from trainyard.server.mlflow import service as mlflow
from trainyard.server.registry import service as registry
from trainyard.server.retention import service as retention
from trainyard.server.retention.service import delete_experiment_runs, delete_workspace_runs
from trainyard.server.runs.service import live_run
from trainyard.server.vault import service as vault
from trainyard.server.workspaces import service
from trainyard.server.workspaces.service import ExperimentChange, NewWorkspace, WorkspaceChange

router = APIRouter(prefix=API + "/workspaces", tags=["workspaces"])


@router.post("")
def create(request: Request, new: NewWorkspace) -> WorkspaceRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("make workspaces")
    with context.db.write() as tx:
        return service.create_workspace(tx, new, principal.name, context.clock())


@router.get("")
def list_all(request: Request) -> list[WorkspaceRecord]:
    context, principal = context_of(request), principal_of(request)
    with context.db.read() as tx:
        found = service.list_workspaces(tx)
    return [record for record in found if principal.workspace_id in ("", record.id)]


@router.get("/find")
def find(
    request: Request, name: str, subscription_id: str | None = None, resource_group: str | None = None
) -> WorkspaceRecord:
    context, principal = context_of(request), principal_of(request)
    with context.db.read() as tx:
        record = service.find_workspace(tx, name, subscription_id, resource_group)
    principal.require_workspace(record.id)
    return record


@router.get("/{workspace_id}")
def get(request: Request, workspace_id: str) -> WorkspaceRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get_workspace(tx, workspace_id)


@router.patch("/{workspace_id}")
def change(request: Request, workspace_id: str, change: WorkspaceChange) -> WorkspaceRecord:
    principal_of(request).require_owner("change workspaces")
    with context_of(request).db.write() as tx:
        return service.change_workspace(tx, workspace_id, change)


@router.delete("/{workspace_id}")
def delete(request: Request, workspace_id: str) -> None:
    context = context_of(request)
    principal_of(request).require_owner("delete workspaces")
    with context.db.write() as tx:
        service.get_workspace(tx, workspace_id)
        _refuse_live(tx, workspace_id)
    delete_workspace_runs(context, workspace_id)
    with context.db.write() as tx:
        _refuse_live(tx, workspace_id)  # it may have come meanwhile
        endpoints.remove_all(tx, workspace_id, context.clock())
        for feature in (registry, data, vault, environments, retention, mlflow):
            feature.remove_all(tx, workspace_id)
        targets = computes.remove_all(tx, workspace_id)
        service.delete_workspace(tx, workspace_id)
    stores.drop_folders(context, workspace_id)
    for compute_id in targets:
        attached.forget(context.backends, compute_id)
    context.wake_services.set()


@router.post("/{workspace_id}/experiments")
def ensure_experiment(request: Request, workspace_id: str, body: dict[str, str]) -> ExperimentRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    name = body.get("name", "")
    with context.db.write() as tx:
        return service.ensure_experiment(tx, workspace_id, name, principal.name, context.clock())


@router.get("/{workspace_id}/experiments")
def list_experiments(request: Request, workspace_id: str, view: str = "active") -> list[ExperimentRecord]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.list_experiments(tx, workspace_id, view)


@router.get("/{workspace_id}/experiments/{name}")
def get_experiment(request: Request, workspace_id: str, name: str) -> ExperimentRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get_experiment(tx, workspace_id, name)


@router.patch("/{workspace_id}/experiments/{name}")
def change_experiment(request: Request, workspace_id: str, name: str, change: ExperimentChange) -> ExperimentRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("change experiments")
    with context.db.write() as tx:
        return service.change_experiment(tx, workspace_id, name, change, context.clock())


@router.delete("/{workspace_id}/experiments/{experiment_id}")
def delete_experiment(request: Request, workspace_id: str, experiment_id: str) -> None:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("delete experiments")
    with context.db.write() as tx:
        record = service.experiment_by_id(tx, workspace_id, experiment_id)
        _refuse_live(tx, workspace_id, record.id)
    delete_experiment_runs(context, workspace_id, record.name)
    with context.db.write() as tx:
        _refuse_live(tx, workspace_id, record.id)
        service.delete_experiment(tx, experiment_id)


def _refuse_live(tx: Connection, workspace_id: str, experiment_id: str | None = None) -> None:
    if (live := live_run(tx, workspace_id, experiment_id)) is not None:
        what = "workspace" if experiment_id is None else "experiment"
        raise Conflict(f"Run {live.run_id} of this {what} is {live.state}. Cancel it first.")
