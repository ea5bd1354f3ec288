"""Secrets over HTTP. A job's token reads those of its workspace; only the owner's sets and removes them."""

from __future__ import annotations

from fastapi import APIRouter, Request

from trainyard.contract.service import API
from trainyard.contract.vault import SecretNames, SecretValues
from trainyard.server.context import context_of, principal_of
from trainyard.server.secrets import Secrets
from trainyard.server.vault import service
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API + "/workspaces/{workspace_id}/secrets", tags=["secrets"])


@router.post("")
def put(request: Request, workspace_id: str, given: SecretValues) -> None:
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("set secrets")
    service.check(given.values)
    secrets = Secrets.of_home(context.settings)
    encrypted = {name: secrets.encrypt(str(value)) for name, value in given.values.items()}
    with context.db.write() as tx:
        workspaces.get_workspace(tx, workspace_id)
        service.put(tx, workspace_id, principal.name, encrypted, context.clock())


@router.post("/values")
def values(request: Request, workspace_id: str, asked: SecretNames) -> SecretValues:
    context = context_of(request)
    principal_of(request).require_workspace(workspace_id)
    with context.db.read() as tx:
        found = service.encrypted_values(tx, workspace_id, asked.names)
    secrets = Secrets.of_home(context.settings)
    return SecretValues({name: secrets.decrypt(found[name]) if name in found else None for name in asked.names})


@router.get("")
def names(request: Request, workspace_id: str) -> SecretNames:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return SecretNames(service.names(tx, workspace_id))


@router.delete("/{name}")
def remove(request: Request, workspace_id: str, name: str) -> None:
    principal_of(request).require_owner("delete secrets")
    with context_of(request).db.write() as tx:
        service.remove(tx, workspace_id, name)
