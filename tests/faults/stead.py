"""A home of a test's own with the real service, guardian and agents, and what is needed to break them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.exceptions import UserErrorException
from trainyard.backends.local import Local
from trainyard.client.home import Home, Running
from trainyard.sdk.service import Yard

DRIVER = "azureml-logs/70_driver_log.txt"
PATIENCE_S = 60.0  # how long an event may take on a crowded machine before a test gives up


@dataclass
class Stead:
    root: Path
    tracked: set[int] = field(default_factory=set)  # processes of jobs that hide: they must be gone in the end as well

    @property
    def home(self) -> Home:
        return Home(str(self.root / "h"))

    @property
    def workspace(self) -> Workspace:
        return Workspace.create(name="yard", exist_ok=True)

    def submit(self, code: str, /, *, target: Any = None, nodes: int = 1, arguments: Any = (), **spec: Any) -> Any:
        """A run of this Python code with the test's own interpreter, in an experiment called `faults`."""
        return Experiment(self.workspace, "faults").submit(self.config(code, target, nodes, arguments, **spec))

    def config(self, code: str, target: Any, nodes: int, arguments: Any, **spec: Any) -> ScriptRunConfig:
        source = self.root / f"src-{time.monotonic_ns()}"
        source.mkdir()
        (source / "train.py").write_text(code)
        what = spec if "command" in spec else {**spec, "script": "train.py", "arguments": [str(a) for a in arguments]}
        config = ScriptRunConfig(source_directory=str(source), compute_target=target, **what)
        config.run_config.environment = Environment("here")
        config.run_config.environment.python.user_managed_dependencies = True
        config.run_config.node_count = nodes
        return config

    def yard(self, *, start: bool = True) -> Yard:
        return Yard.from_env({"TRAINYARD_HOME": self.home.path}, start=start)

    def service_pid(self) -> int:
        return self.home.ensure_running().pid

    def next_service(self, killed: int) -> Running:
        """The one that somebody started after `killed` was; here nobody asks for it."""
        return until(lambda: (now := self.home.running()) is not None and now.pid != killed and now)

    def guardian_pid(self) -> int:
        """As it says itself; 0 while there is none. (Its agents are forks and look like it.)"""
        try:
            return int(Local(self.home.path)._exchange({"verb": "list"})["pid"])
        except OSError:
            return 0

    def agent_pids(self, run: Any) -> list[int]:
        """Of the attempt that is alive now, by node."""
        query = (
            "SELECT n.pid FROM attempt_nodes n JOIN attempts a USING (attempt_id) JOIN runs r ON r.key = a.run_key "
            "WHERE r.run_id = ? AND a.ended_ns IS NULL AND n.pid IS NOT NULL ORDER BY n.node"
        )
        return [row[0] for row in self.rows(query, run.id)]

    def rows(self, query: str, *values: Any) -> list[Any]:
        """What the database says, read beside the service."""
        with contextlib.closing(sqlite3.connect(self.home.file("trainyard.db"), timeout=30)) as connection:
            return connection.execute(query, values).fetchall()

    def log(self, run: Any, name: str = DRIVER) -> bytes:
        """What the service has of a log; nothing while it has none."""
        try:
            return bytes(run._runs.read_log(run.id, name))
        except UserErrorException:
            return b""

    def states(self, run: Any) -> list[str]:
        return [event.state.value for event in run._runs.events(run.id)]

    def command_lines(self) -> list[tuple[int, str]]:
        """Process → command line, of all that were started with this home in their arguments or variables."""
        mark = os.fsencode(self.home.path)
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                line, variables = _read(f"/proc/{name}/cmdline"), _read(f"/proc/{name}/environ").split(b"\0")
                if mark in line.split(b"\0") or b"TRAINYARD_HOME=" + mark in variables:
                    found.append((int(name), line.replace(b"\0", b" ").decode("utf-8", "replace")))
        return found

    def leftovers(self) -> list[tuple[int, str]]:
        """Everything of this home that still lives: by home, by an attempt's marker, and what tests have tracked."""
        attempts = {row[0] for row in self.rows("SELECT attempt_id FROM attempts")} if self._has_tables() else set()
        marks = {f"TRAINYARD_ATTEMPT={attempt}".encode() for attempt in attempts}
        found = dict(self.command_lines())
        for name in os.listdir("/proc"):
            if name.isdigit() and not marks.isdisjoint(_read(f"/proc/{name}/environ").split(b"\0")):
                found.setdefault(int(name), "(marked)")
        found |= dict.fromkeys(self.tracked, "(tracked)")
        return [(pid, line) for pid, line in found.items() if is_alive(pid)]

    def close(self) -> None:
        """Stop everything, and insist that nothing is left. A home without a token has never had a service."""
        if not os.path.exists(self.home.file("token")):
            return
        yard = self.yard()
        yard.http.url  # noqa: B018 - a service that is away is started: the guardian's end is its business
        yard.stop(everything=True)
        deadline = time.monotonic() + PATIENCE_S
        while (left := self.leftovers()) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid, _ in left:
            kill(pid)
        assert left == []

    def _has_tables(self) -> bool:
        return os.path.exists(self.home.file("trainyard.db")) and bool(
            self.rows("SELECT name FROM sqlite_master WHERE name = 'attempts'")
        )


def until(true: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """The first answer of `true` that is one. For what happens in other processes and tells nobody."""
    deadline = time.monotonic() + patience_s
    while not (answer := true()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
    return answer


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def is_alive(pid: int) -> bool:
    state = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return bool(state) and state[0] not in (b"Z", b"X")


def python(code: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """A client of its own: another process that uses the SDK."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> Any:
    """The JSON that a client printed as its last line; it must have ended well."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, out + err
    return json.loads(out.strip().splitlines()[-1])


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
