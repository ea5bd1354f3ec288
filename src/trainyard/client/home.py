"""The embedded home on this machine: where its service is, and how to start it when it is not there."""

from __future__ import annotations

import atexit
import errno
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainyard import __version__
from trainyard.contract.attempts import ATTEMPT_VARIABLE, JOB_CONTEXT_VARIABLE
from trainyard.contract.errors import ServiceUnavailable
from trainyard.contract.locks import is_locked, locked
from trainyard.contract.service import understands

if TYPE_CHECKING:
    import subprocess

START_DEADLINE_S = 30.0
_LEAST_ROOM = 1 << 20  # bytes
HOME_TAKEN = 3  # the service's exit code when another one has its home

# Services this process started. They outlive it; while it lives it is their parent and takes note when one ends.
_started: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Running:
    """What `server.json` says of the running service."""

    pid: int
    url: str
    version: str
    python: str


@dataclass(frozen=True)
class Home:
    path: str

    @staticmethod
    def default(variables: dict[str, str]) -> Home:
        given = variables.get("TRAINYARD_HOME") or os.path.join(os.path.expanduser("~"), ".trainyard")
        return Home(os.path.abspath(os.path.expanduser(given)))

    def file(self, *parts: str) -> str:
        return os.path.join(self.path, *parts)

    @property
    def blobs(self) -> str:
        return self.file("blobs")

    def token(self) -> str:
        """The owner's token, made by the service at its first start."""
        try:
            with open(self.file("token"), encoding="ascii") as file:
                return file.read().strip()
        except OSError as error:
            raise ServiceUnavailable(f"Cannot read {self.file('token')}: {error}. Run `trainyard doctor`.") from error

    def running(self) -> Running | None:
        """The live service of this home, if any. A service holds a lock on `server.lock` for as long as it lives, so a
        stale `server.json`, a reused process id or a foreign process on its port cannot pass for it."""
        if not is_locked(self.file("server.lock")):
            return None
        try:
            with open(self.file("server.json"), encoding="utf-8") as file:
                said = json.load(file)
            running = Running(int(said["pid"]), str(said["url"]), str(said["version"]), str(said["python"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None  # it is still starting, or just stopping
        # One that was killed left its file behind, and the next holds the lock before it has written its own: its
        # address may be somebody else's by now, who must not be shown our token.
        return running if _alive(running.pid) else None

    def locked(self, name: str = "server.lock") -> bool:
        """Whether the service of this home lives, also one that is still starting or just stopping; or another of its
        processes, by the lock that it holds."""
        return is_locked(self.file(name))

    def ensure_running(self) -> Running:
        """The service of this home, started if need be. Any number of callers at once get the same one."""
        if (running := self.running()) is None:
            try:
                os.makedirs(self.path, mode=0o700, exist_ok=True)
                with locked(self.file("start.lock")):
                    running = self.running() or self._start()
            except OSError as error:
                raise self._unusable(error) from error
        if not understands(running.version, __version__):
            raise ServiceUnavailable(
                f"The service of {self.path} (process {running.pid}) is Trainyard {running.version} and this is "
                f"{__version__}. Stop it with `trainyard stop` (the next call starts the new one), or use the same "
                "version on both sides."
            )
        return running

    def _unusable(self, error: OSError) -> ServiceUnavailable:
        if error.errno == errno.ENOSPC or disk_is_full(self.path):
            return ServiceUnavailable(
                f"The service cannot start: the disk that holds {self.path} is full. Free some space, or set "
                "TRAINYARD_HOME to a folder on another disk."
            )
        return ServiceUnavailable(
            f"{self.path} cannot be Trainyard's home: {error.strerror}. Set TRAINYARD_HOME to a folder of yours."
        )

    def _start(self) -> Running:
        log_path = self.file("service.log")
        process = None if self._guardian_starts_it() else self._spawn(log_path)
        deadline = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < deadline:
            if (running := self.running()) is not None:
                return running
            if process is not None and process.poll() is not None and not is_locked(self.file("server.lock")):
                if process.returncode != HOME_TAKEN:
                    break
                process = self._spawn(log_path)  # the one that had the home, or a look at its lock, is gone
            time.sleep(0.01)
        if disk_is_full(self.path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise ServiceUnavailable(
            f"The service did not start. The end of {log_path}:\n{_tail(log_path)}\n`trainyard doctor` says more."
        )

    def _guardian_starts_it(self) -> bool:
        """Inside an attempt: what is started there ends with it, so the guardian of this home is asked to do it."""
        if ATTEMPT_VARIABLE not in os.environ:
            return False
        import socket  # here, as subprocess below: most processes find the service running

        try:
            with open(self.file("guardian.addr"), encoding="utf-8") as file:
                address = file.read()
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as guardian:
                guardian.settimeout(5.0)
                guardian.connect(address)
                guardian.sendall(b'{"verb": "service"}\n')
                return b'"answer"' in guardian.recv(4096)
        except OSError:
            return False

    def _spawn(self, log_path: str) -> subprocess.Popen[bytes]:
        marks = (ATTEMPT_VARIABLE, JOB_CONTEXT_VARIABLE)  # the service is no part of the attempt that needs it
        import subprocess

        with open(log_path, "ab") as log:
            process = subprocess.Popen(
                [self._python(), "-m", "trainyard.server", "--home", self.path],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
                env={name: value for name, value in os.environ.items() if name not in marks},
            )
        if not _started:
            atexit.register(_let_go)
        _started[:] = [process, *(other for other in _started if other.poll() is None)]
        return process

    def _python(self) -> str:
        """An interpreter with the service's packages. A job's own need not have them: the last service says its own."""
        try:
            with open(self.file("python"), encoding="utf-8") as file:
                recorded = file.read().strip()
        except OSError:
            return sys.executable
        return recorded if os.access(recorded, os.X_OK) else sys.executable


def disk_is_full(path: str) -> bool:
    """Nothing is left there that a service could begin with, or a log could say so with."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_ROOM


def _let_go() -> None:
    """At our end. A service that outlives us is meant to: Python need not warn of a process that still runs."""
    for process in _started:
        if process.poll() is None:
            process.returncode = 0


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _tail(path: str, lines: int = 15) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 8192))
        return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-lines:])
