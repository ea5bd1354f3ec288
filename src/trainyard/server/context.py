"""What routes and the reconciler share, made once at the start and handed down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request

from trainyard.blobs.files import FileStore
from trainyard.server.activity import Activity, Pulse
from trainyard.server.computes.attached import Backends
from trainyard.server.computes.machine import Machine
from trainyard.server.db import Database
from trainyard.server.hub import Hub
from trainyard.server.identity.service import Authenticator, Principal
from trainyard.server.logs.service import LogStore
from trainyard.server.settings import Settings


@dataclass(frozen=True)
class Context:
    settings: Settings
    db: Database
    blobs: FileStore
    logs: LogStore
    hub: Hub
    authenticator: Authenticator
    machine: Machine
    backends: Backends
    activity: Activity
    pulse: Pulse = field(default_factory=Pulse)
    wake: threading.Event = field(default_factory=threading.Event)  # there is work for the reconciler
    wake_services: threading.Event = field(default_factory=threading.Event)  # and for the keeper of services
    services_lock: threading.Lock = field(default_factory=threading.Lock)  # held while fronts are looked at
    services_end: threading.Event = field(default_factory=threading.Event)  # from here on none is started
    clock: Callable[[], int] = time.time_ns
    started_ns: int = field(default_factory=time.time_ns)


def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


def principal_of(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal
