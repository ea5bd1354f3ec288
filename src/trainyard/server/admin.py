"""The service about itself: status and stop."""

from __future__ import annotations

import asyncio
import os
import signal

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse

from trainyard import __version__
from trainyard.contract.errors import StillRunning
from trainyard.contract.service import API, ServiceStatus
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.endpoints import service as endpoints
from trainyard.server.endpoints.keeper import end_all
from trainyard.server.runs import service as runs
from trainyard.server.runs.moves import Writer
from trainyard.server.workspaces import service as workspaces

router = APIRouter(prefix=API, tags=["service"])

_STOP_DEADLINE_S = 60.0


@router.get("/status")
def status(request: Request) -> ServiceStatus:
    context = context_of(request)
    with context.db.read() as tx:
        return ServiceStatus(
            version=__version__,
            pid=os.getpid(),
            home=context.settings.home,
            database=context.db.url if context.db.is_sqlite else context.db.url.partition("://")[0],
            started_ns=context.started_ns,
            active_runs=runs.active_runs(tx),
            workspaces=len(workspaces.list_workspaces(tx)),
            idle_stop_s=context.settings.idle_stop_s,
            services=len(endpoints.all_active(tx)),
        )


@router.post("/stop")
async def stop(request: Request, everything: int = 0) -> JSONResponse:
    """Ends the service. Deployed services go on answering; with `everything`, active runs are canceled and deployed
    services ended first. Those stay deployed: they answer again when the service is started again."""
    context, principal = context_of(request), principal_of(request)
    principal.require_owner("stop the service")
    if everything:
        await run_in_threadpool(_cancel_all, context, principal.name)
        deadline = asyncio.get_running_loop().time() + _STOP_DEADLINE_S
        while await run_in_threadpool(_active, context) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
    if active := await run_in_threadpool(_active, context):
        who, them = ("1 run is", "it") if active == 1 else (f"{active} runs are", "them")
        raise StillRunning(f"{who} active. Wait for {them}, or `trainyard stop --all` cancels {them} first.")
    if everything:
        await run_in_threadpool(end_all, context)
    await run_in_threadpool(_close_backends, context)
    return JSONResponse({}, background=BackgroundTask(os.kill, os.getpid(), signal.SIGTERM))


def _active(context: Context) -> int:
    with context.db.read() as tx:
        return runs.active_runs(tx)


def _cancel_all(context: Context, actor: str) -> None:
    with context.db.write() as tx:
        runs.cancel_all(Writer(tx, context.authenticator, context.clock(), actor))
    context.wake.set()


def _close_backends(context: Context) -> None:
    for backend in context.backends.values():
        backend.close()
