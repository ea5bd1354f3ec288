"""The application: every room's routes behind one gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

from trainyard import __version__
from trainyard.contract.service import API
from trainyard.server import admin, answers
from trainyard.server.blobs import routes as blobs
from trainyard.server.computes import routes as computes
from trainyard.server.context import Context
from trainyard.server.data import files as data_files
from trainyard.server.data import routes as data
from trainyard.server.endpoints import images
from trainyard.server.endpoints import routes as endpoints
from trainyard.server.environments import routes as environments
from trainyard.server.identity.gate import Gate
from trainyard.server.logs import routes as logs
from trainyard.server.metrics import chart
from trainyard.server.metrics import routes as metrics
from trainyard.server.mlflow import routes as mlflow
from trainyard.server.registry import routes as registry
from trainyard.server.retention import routes as retention
from trainyard.server.runs import agent_routes as agents
from trainyard.server.runs import routes as runs
from trainyard.server.runs import search_routes as searches
from trainyard.server.sweeps import routes as sweeps
from trainyard.server.vault import routes as vault
from trainyard.server.workspaces import routes as workspaces

ROUTERS = (  # looked through in this order, so what is asked most stands first
    runs.router,
    workspaces.router,
    computes.router,
    admin.router,
    environments.router,
    registry.router,
    retention.router,
    endpoints.router,
    images.router,
    sweeps.router,
    data.router,
    vault.router,
)
PLAIN = (
    *agents.ROUTES,
    *logs.ROUTES,
    *metrics.ROUTES,
    *blobs.ROUTES,
    *searches.ROUTES,
    *chart.ROUTES,
    *data_files.ROUTES,
)  # every byte of every run passes through these


def create_app(context: Context) -> Starlette:
    """Plain routes first, the documented API behind them; the gate before both."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        context.hub.attach(asyncio.get_running_loop())
        yield

    handlers: Any = answers.HANDLERS
    api = FastAPI(title="Trainyard", version=__version__, exception_handlers=handlers)
    api.state.context = context
    for router in ROUTERS:  # as they are: included, each would be built once more, and searched by a slower way
        api.router.routes += router.routes
    gate = Middleware(
        Gate,
        authenticator=context.authenticator,
        loopback=context.settings.loopback,
        on_request=context.activity.touch,
    )
    plain = [Route(API + route.path, route.endpoint, methods=list(route.methods or ())) for route in PLAIN]
    app = Starlette(
        routes=[*plain, *mlflow.ROUTES, Mount("/", api)],
        middleware=[gate],
        exception_handlers=handlers,
        lifespan=lifespan,
    )
    app.state.context = context
    return app
