"""The registry of models over HTTP."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request

from trainyard.contract.errors import InvalidRequest, ModelInUse
from trainyard.contract.models import Lineage, ModelChange, ModelPage, ModelQuery, ModelRecord, NewModel
from trainyard.contract.runs import RunFile
from trainyard.contract.service import API
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.endpoints import service as endpoints
from trainyard.server.registry import content, service
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API + "/workspaces/{workspace_id}/models", tags=["models"])


@router.post("")
def register(request: Request, workspace_id: str, new: NewModel) -> ModelRecord:
    """Content is gathered and checked with no transaction open; the version is given at the very end."""
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    service.check_new(new)
    lineage, files = _of_run(context, workspace_id, new)
    tree = new.source.content
    if tree is None:
        if lineage is None or not new.source.path:
            raise InvalidRequest("A model is made of content in the store, or of a path among a run's files. Name one.")
        tree = content.gathered(context.blobs, new.source, lineage.run_id, files)
    count, size = content.measured(context.blobs, tree)
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        return service.register(tx, workspace_id, principal.name, new, (tree, count, size), lineage, context.clock())


@router.post("/find")
def find(request: Request, workspace_id: str, query: ModelQuery) -> ModelPage:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.list_models(tx, workspace_id, query)


@router.post("/one")
def one(request: Request, workspace_id: str, query: ModelQuery) -> ModelRecord:
    """The newest that fits."""
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.find(tx, workspace_id, query)


@router.get("/{model_id}")
def get(request: Request, workspace_id: str, model_id: str) -> ModelRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get(tx, workspace_id, model_id)


@router.patch("/{model_id}")
def change(request: Request, workspace_id: str, model_id: str, wish: ModelChange) -> ModelRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        return service.change(tx, workspace_id, model_id, wish, context.clock())


@router.put("/{model_id}/aliases/{alias}")
def set_alias(request: Request, workspace_id: str, model_id: str, alias: str) -> ModelRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        return service.set_alias(tx, workspace_id, principal.name, model_id, alias)


@router.delete("/{model_id}/aliases/{alias}")
def remove_alias(request: Request, workspace_id: str, model_id: str, alias: str) -> ModelRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        record = service.get(tx, workspace_id, model_id)
        service.remove_alias(tx, workspace_id, record.name, alias)
        return replace(record, aliases=tuple(each for each in record.aliases if each != alias))


@router.delete("/{model_id}")
def delete(request: Request, workspace_id: str, model_id: str) -> None:
    """Refused while a service has it."""
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    principal.require_owner("delete models")
    with context.db.write() as tx:
        record = service.get(tx, workspace_id, model_id)
        if deployed := endpoints.services_with(tx, workspace_id, record.id):
            raise ModelInUse(record.id, deployed)
        service.remove(tx, record)


def _of_run(context: Context, workspace_id: str, new: NewModel) -> tuple[Lineage | None, list[RunFile]]:
    if new.source.run_id is None:
        return None, []
    with context.db.read() as tx:
        lineage, files = content.of_run(tx, context, workspace_id, new.source.run_id)
        names = workspaces.experiment_names(tx, {lineage.experiment})
    return replace(lineage, experiment=names[lineage.experiment]), files
