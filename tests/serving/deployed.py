"""A service as its owner runs it: a folder with a plan, a front in a process of its own, requests over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.serving import Scorer, ServicePlan, ServiceState, ServiceStatus

LONG_S = 60.0


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Deployed:
    folder: Path
    home: Path
    plan: ServicePlan
    process: subprocess.Popen[bytes] | None = None
    _kept: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def write(self, plan: ServicePlan) -> None:
        self.plan = plan
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / "plan.new"
        aside.write_text(json.dumps(to_json(plan)))
        aside.rename(self.folder / "plan.json")

    def start(self, **variables: str) -> Deployed:
        self.write(self.plan)
        environment = {**os.environ, "TRAINYARD_HOME": str(self.home), **variables}
        argv = [sys.executable, "-m", "trainyard.serving.front", str(self.folder)]
        self.process = subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE)
        return self

    def replan(self, plan: ServicePlan) -> None:
        """The next generation."""
        self.write(plan)
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    def status(self) -> ServiceStatus | None:
        with contextlib.suppress(OSError, ValueError):
            return from_json(ServiceStatus, json.loads((self.folder / "status.json").read_text()))
        return None

    def until(self, holds: Callable[[ServiceStatus], bool], seconds: float = LONG_S) -> ServiceStatus:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            assert self.process is not None
            status = self.status()
            if status is not None and holds(status) and status.pid == self.process.pid:
                return status
            if self.process.poll() is not None and status is not None and holds(status):
                return status
            time.sleep(0.01)
        raise AssertionError(f"not seen in {seconds} s: {self.status()}\n{self.log()}")

    def settled(self, seconds: float = LONG_S) -> ServiceStatus:
        """When the plan that was last written is served, or has failed."""
        return self.until(
            lambda it: it.generation == self.plan.generation and it.state is not ServiceState.TRANSITIONING, seconds
        )

    def healthy(self, seconds: float = LONG_S) -> Deployed:
        status = self.settled(seconds)
        assert status.state is ServiceState.HEALTHY, f"{status}\n{self.log()}"
        return self

    def log(self) -> str:
        path = self.folder / "service.log"
        return path.read_text() if path.exists() else ""

    def until_logged(self, text: str, seconds: float = LONG_S) -> None:
        ends = time.monotonic() + seconds
        while text not in self.log():
            assert time.monotonic() < ends, f"{text!r} was not logged:\n{self.log()}"
            time.sleep(0.01)

    @property
    def address(self) -> tuple[str, int]:
        status = self.status()
        assert status is not None
        host, _, port = status.url.partition("://")[2].rpartition(":")
        return host, int(port)

    def connection(self, seconds: float = LONG_S) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self.address, timeout=seconds)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        data = (
            body if isinstance(body, bytes | None) else (body if isinstance(body, str) else json.dumps(body)).encode()
        )
        connection = self.connection()
        try:
            connection.request(method, path, data, headers or {})
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(reply.status, found, reply.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, headers)

    def post(self, body: Any, path: str = "/score", **headers: str) -> Reply:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, body, {"Content-Type": "application/json", **given})

    def workers(self) -> list[psutil.Process]:
        assert self.process is not None
        return psutil.Process(self.process.pid).children()

    def until_workers(self, count: int, seconds: float = LONG_S) -> None:
        ends = time.monotonic() + seconds
        while len(self.workers()) != count:
            assert time.monotonic() < ends, f"{len(self.workers())} processes, not {count}"
            time.sleep(0.02)

    def stop(self, number: int = signal.SIGTERM, seconds: float = LONG_S) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(seconds)
        finally:
            self.process.kill()
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code


def scorer(source: Path, version: str = "1", **settings: Any) -> Scorer:
    return Scorer(
        version=version,
        interpreter=settings.pop("interpreter", sys.executable),
        models=str(settings.pop("models", source / "azureml-models")),
        source=str(source),
        entry_script=settings.pop("entry_script", "score.py"),
        **settings,
    )
