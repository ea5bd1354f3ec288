"""The folder of a service: what its owner wrote there, and what the front writes back."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import ssl
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.serving import LOG_FILE, PLAN_FILE, STATUS_FILE, ServicePlan, ServiceState, ServiceStatus

_BACKLOG = 2048


class FolderRefused(Exception):
    """The plan cannot be followed at all."""


class AlreadyServed(FolderRefused):
    """By another front, whose status must not be touched."""


class Folder:
    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.log = os.path.join(self.path, LOG_FILE)

    def plan(self) -> ServicePlan:
        path = os.path.join(self.path, PLAN_FILE)
        try:
            with open(path, encoding="utf-8") as file:
                return from_json(ServicePlan, json.load(file))
        except OSError as error:
            raise FolderRefused(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, TypeError, KeyError) as error:
            raise FolderRefused(f"{path} is not a plan: {error}.") from error

    def status(self) -> ServiceStatus | None:
        try:
            with open(os.path.join(self.path, STATUS_FILE), encoding="utf-8") as file:
                return from_json(ServiceStatus, json.load(file))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, status: ServiceStatus) -> None:
        path = os.path.join(self.path, STATUS_FILE)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(to_json(status), file)
        os.replace(f"{path}.new", path)

    def refuse(self, reason: str) -> None:
        """The status of a service that never came to listen."""
        name, generation = os.path.basename(self.path), 0
        with contextlib.suppress(FolderRefused):
            plan = self.plan()
            name, generation = plan.name, plan.generation
        now = time.time_ns()
        self.write(ServiceStatus(name, generation, ServiceState.FAILED, os.getpid(), "", (), reason, now))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One front at a time. (front.lock is its owner's, who holds it for us from outside.)"""
        fd = os.open(os.path.join(self.path, "serving.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(fd)
            raise AlreadyServed(f"A front serves {self.path} already.") from error
        try:
            yield
        finally:
            os.close(fd)

    def check_certificate(self, plan: ServicePlan) -> None:
        if plan.certificate is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(plan.certificate)
            except OSError as error:  # SSLError is one
                raise FolderRefused(f"The certificate of the service cannot be used: {error}. Give another.") from error

    def listen(self, plan: ServicePlan) -> socket.socket:
        """At the plan's port; without one, at the port of the last time, if it is still free."""
        if plan.port:
            return _bound(plan.host, plan.port)
        last = self.status()
        port = urlsplit(last.url).port if last and last.url else None
        if port:
            with contextlib.suppress(FolderRefused):
                return _bound(plan.host, port)
        return _bound(plan.host, 0)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        sock.close()
        what = getattr(error, "strerror", None) or str(error)
        raise FolderRefused(
            f"The service cannot listen at {host}:{port} ({what}). Choose another port, or end the program that has it."
        ) from error
    sock.set_inheritable(False)
    return sock
