"""Sweeps over HTTP. A sweep is a run: what all runs have is under /runs."""

from __future__ import annotations

from fastapi import APIRouter, Request

from trainyard.contract.runs import RunRecord
from trainyard.contract.service import API
from trainyard.contract.sweeps import NewSweep, SweepRecord, check_sweep
from trainyard.server.context import context_of, principal_of
from trainyard.server.metrics import spool
from trainyard.server.sweeps import service

router = APIRouter(prefix=API + "/workspaces/{workspace_id}/sweeps", tags=["sweeps"])


@router.post("")
def create(request: Request, workspace_id: str, new: NewSweep) -> RunRecord:
    context, principal = context_of(request), principal_of(request)
    principal.require_workspace(workspace_id)
    check_sweep(new.spec)
    service.sampler_of(new.spec, 0)  # what is imported for it is imported here, not in the middle of a transaction
    with context.db.write() as tx:
        record = service.create_sweep(tx, context, principal, workspace_id, new)
        if record.spool is not None:
            spool.prepare(record.spool)
    context.wake.set()
    return record


@router.get("/{run_id}")
def get(request: Request, workspace_id: str, run_id: str) -> SweepRecord:
    principal_of(request).require_workspace(workspace_id)
    with context_of(request).db.read() as tx:
        return service.get_sweep(tx, workspace_id, run_id)
