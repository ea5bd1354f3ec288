"""Deleting for good, over HTTP. Only the owner may."""

from __future__ import annotations

from fastapi import APIRouter, Request

from trainyard.contract.retention import Deleted, Deletion, Rule, Swept
from trainyard.contract.service import API
from trainyard.server.context import context_of, principal_of
from trainyard.server.retention import content, service
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API, tags=["retention"])


@router.post("/workspaces/{workspace_id}/runs/delete")
def delete(request: Request, workspace_id: str, asked: Deletion) -> Deleted:
    """Hard deletion, or (as it comes: dry_run) what that would be."""
    principal_of(request).require_owner("delete runs")
    return service.perform(context_of(request), workspace_id, asked)


@router.get("/workspaces/{workspace_id}/retention")
def rules(request: Request, workspace_id: str) -> list[Rule]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.rules(tx, workspace_id)


@router.post("/workspaces/{workspace_id}/retention")
def add(request: Request, workspace_id: str, rule: Rule) -> list[Rule]:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("make rules of retention")
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        service.add_rule(tx, workspace_id, principal.name, rule, context.clock())
        return service.rules(tx, workspace_id)


@router.delete("/workspaces/{workspace_id}/retention/{name}")
def remove(request: Request, workspace_id: str, name: str) -> list[Rule]:
    principal_of(request).require_owner("remove rules of retention")
    with context_of(request).db.write() as tx:
        service.remove_rule(tx, workspace_id, name)
        return service.rules(tx, workspace_id)


@router.post("/workspaces/{workspace_id}/retention/apply")
def apply(request: Request, workspace_id: str, dry_run: int = 1) -> list[Deleted]:
    """Every rule now; otherwise the service does it each hour."""
    principal_of(request).require_owner("delete runs")
    return service.apply_rules(context_of(request), workspace_id, dry_run=bool(dry_run))


@router.post("/content/sweep")
def sweep(request: Request, dry_run: int = 1, now: int = 0) -> Swept:
    """Content that nothing names. With `now`, what was put aside is deleted whenever that was."""
    principal_of(request).require_owner("delete content")
    aside_s = 0.0 if now else content.ASIDE_S
    return content.sweep(context_of(request), dry_run=bool(dry_run), aside_s=aside_s)
