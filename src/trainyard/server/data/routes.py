"""Datastores and datasets over HTTP. The bytes of files have plain routes of their own: see files.py."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel

from trainyard.contract.codec import from_json
from trainyard.contract.data import (
    DatasetChange,
    DatasetRecord,
    DatastoreRecord,
    DataUse,
    NewDataset,
    NewDatastore,
    QueryAnswer,
)
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.service import API
from trainyard.server.context import context_of, principal_of
from trainyard.server.data import query, service, stores
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API + "/workspaces/{workspace_id}", tags=["data"])


class Query(BaseModel):
    query: str
    limit: int | None = None


@router.post("/datastores")
def register_datastore(request: Request, workspace_id: str, body: dict[str, Any]) -> DatastoreRecord:
    """`body` is a NewDatastore. It is read here, so that a complaint about it can never quote a credential."""
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("register datastores")
    try:
        new = from_json(NewDatastore, body)
    except (TypeError, ValueError, AttributeError):
        raise InvalidRequest("A datastore has a name, a kind, a location and secrets. See /openapi.json.") from None
    with context.db.read() as tx:
        workspaces.get_workspace(tx, workspace_id)
    stores.check(context, new)
    with context.db.write() as tx:
        return stores.register(tx, context, workspace_id, principal.name, new)


@router.get("/datastores")
def list_datastores(request: Request, workspace_id: str) -> list[DatastoreRecord]:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        workspaces.get_workspace(tx, workspace_id)
        return stores.list_all(tx, context, workspace_id)


@router.get("/datastores/{name}")
def get_datastore(request: Request, workspace_id: str, name: str) -> DatastoreRecord:
    principal_of(request).require_workspace(workspace_id)
    context = context_of(request)
    with context.db.read() as tx:
        return stores.get(tx, context, workspace_id, name)


@router.post("/datastores/{name}/default")
def set_default_datastore(request: Request, workspace_id: str, name: str) -> DatastoreRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("change the default datastore")
    with context.db.write() as tx:
        stores.set_default(tx, context, workspace_id, principal.name, name)
        return stores.get(tx, context, workspace_id, name)


@router.delete("/datastores/{name}")
def unregister_datastore(request: Request, workspace_id: str, name: str) -> None:
    principal_of(request).require_owner("unregister datastores")
    with context_of(request).db.write() as tx:
        stores.unregister(tx, workspace_id, name)


@router.post("/datastores/{name}/query")
def ask_database(request: Request, workspace_id: str, name: str, body: Query) -> QueryAnswer:
    principal_of(request).require_workspace(workspace_id)
    return query.ask(context_of(request), workspace_id, name, body.query, body.limit)


@router.post("/datasets")
def save_dataset(request: Request, workspace_id: str, new: NewDataset) -> DatasetRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        return service.save(tx, workspace_id, principal.name, new, context.clock())


@router.get("/datasets")
def list_datasets(request: Request, workspace_id: str) -> list[DatasetRecord]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.list_latest(tx, workspace_id)


@router.get("/datasets/by-name")
def dataset_by_name(request: Request, workspace_id: str, name: str, version: int | None = None) -> DatasetRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get_by_name(tx, workspace_id, name, version)


@router.get("/datasets/versions")
def dataset_versions(request: Request, workspace_id: str, name: str) -> list[DatasetRecord]:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.versions(tx, workspace_id, name)


@router.delete("/datasets/by-name")
def unregister_dataset(request: Request, workspace_id: str, name: str) -> None:
    principal_of(request).require_owner("unregister datasets")
    with context_of(request).db.write() as tx:
        service.unregister(tx, workspace_id, name)


@router.get("/datasets/{dataset_id}")
def dataset_by_id(request: Request, workspace_id: str, dataset_id: str) -> DatasetRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get_by_id(tx, workspace_id, dataset_id)


@router.patch("/datasets/{dataset_id}")
def change_dataset(request: Request, workspace_id: str, dataset_id: str, change: DatasetChange) -> DatasetRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.write() as tx:
        return service.change_dataset(tx, workspace_id, dataset_id, change)


@router.get("/data-uses")
def data_uses(
    request: Request,
    workspace_id: str,
    run_id: str | None = None,
    dataset: str | None = None,
    version: int | None = None,
) -> list[DataUse]:
    """Of a run, or of a dataset."""
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        if run_id is not None:
            return service.uses_of_run(tx, workspace_id, run_id)
        if dataset is not None:
            return service.uses_of_dataset(tx, workspace_id, dataset, version)
    raise InvalidRequest("Say whose: run_id=..., or dataset=... (and version=...).")
