"""The front process of a service: started detached, found again by a lock that it holds for as long as it lives, told
of a new plan by a signal, ended. It needs us for nothing else, and goes on while we are restarted."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from trainyard.blobs.base import replacing
from trainyard.contract.attempts import ATTEMPT_VARIABLE, JOB_CONTEXT_VARIABLE
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.endpoints import Usage
from trainyard.contract.locks import is_locked
from trainyard.contract.serving import LOG_FILE, PLAN_FILE, STATUS_FILE, ServicePlan, ServiceStatus

T = TypeVar("T")

PROGRAM = "trainyard.serving.front"
_LOCK, _PID = "alive.lock", "alive.pid"  # ours; the front has a lock of its own
_NOT_FOR_FRONTS = (ATTEMPT_VARIABLE, JOB_CONTEXT_VARIABLE, "TRAINYARD_TOKEN", "AZUREML_RUN_TOKEN")
LOG_LIMIT = 32 << 20  # a log that is longer begins anew; the one before it is kept beside it


@dataclass(frozen=True)
class Front:
    folder: str

    def alive(self) -> bool:
        """Whether a front of this folder lives, whoever started it. The kernel lets go of its lock however it ends."""
        return is_locked(os.path.join(self.folder, _LOCK))

    def start(self, variables: Mapping[str, str]) -> None:
        """Nothing happens when one lives already."""
        fd = os.open(os.path.join(self.folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _lock(fd):
                return
            self.shorten_log()
            with open(os.path.join(self.folder, LOG_FILE), "ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", PROGRAM, self.folder],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    cwd="/",
                    pass_fds=(fd,),  # the lock lives as long as the front
                    env={name: value for name, value in variables.items() if name not in _NOT_FOR_FRONTS},
                )
        finally:
            os.close(fd)
        _replace(os.path.join(self.folder, _PID), str(process.pid))
        # while we live we are its parent and have to take note when it ends
        threading.Thread(target=process.wait, name="front-status", daemon=True).start()

    def write_plan(self, plan: ServicePlan) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        _replace(os.path.join(self.folder, PLAN_FILE), json.dumps(to_json(plan), indent=1))

    def plan(self) -> ServicePlan | None:
        return self._read(ServicePlan, PLAN_FILE)

    def status(self) -> ServiceStatus | None:
        """What it said last; also one that is gone."""
        return self._read(ServiceStatus, STATUS_FILE)

    def tell(self) -> None:
        """There is a new plan. One that has not said anything yet has no ear for the signal, and reads it anyway."""
        status = self.status()
        if status is not None and status.pid == self.pid():
            self._kill(status.pid, signal.SIGHUP)

    def pid(self) -> int | None:
        """Of the front that lives; never of a stranger who got its number."""
        status = self.status()
        for pid in (status.pid if status else None, _number(os.path.join(self.folder, _PID))):
            if pid is not None and _is_front(pid, self.folder):
                return pid
        return None

    def stop(self, grace_s: float) -> bool:
        """Ask it to end what it has accepted and then itself; force it after `grace_s`. False: it still lives."""
        if not self.alive():
            return True
        if (pid := self.pid()) is not None:
            self._kill(pid, signal.SIGTERM)
        if self._gone_within(grace_s):
            return True
        for each in [pid, *_below(pid)] if pid is not None else []:
            self._kill(each, signal.SIGKILL)
        return self._gone_within(5.0)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def log_tail(self, lines: int) -> str:
        try:
            with open(os.path.join(self.folder, LOG_FILE), "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - 4096 * max(1, min(lines, 20_000))))
                text = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return "".join(text.splitlines(keepends=True)[-lines:]) if lines > 0 else ""

    def read_log(self, offset: int, limit: int = 1 << 20) -> bytes:
        try:
            with open(os.path.join(self.folder, LOG_FILE), "rb") as file:
                file.seek(max(0, offset))
                return file.read(limit)
        except FileNotFoundError:
            return b""

    def usage(self) -> Usage:
        """Of the front and everything below it."""
        pid = self.pid()
        found = [_measured(each) for each in ([pid, *_below(pid)] if pid is not None else [])]
        return Usage(len(found), round(sum(cpu for cpu, _ in found), 3), sum(memory for _, memory in found))

    def _read(self, kind: type[T], name: str) -> T | None:
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return from_json(kind, json.load(file))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _gone_within(self, seconds: float) -> bool:
        ends = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > ends:
                return False
            time.sleep(0.02)
        return True

    def _kill(self, pid: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def shorten_log(self, limit: int = LOG_LIMIT) -> None:
        """Those who write to it append, and go on at its new end: a copy is made and the file emptied under them. What
        they write in between the two is lost, which is a line or two in tens of megabytes."""
        path = os.path.join(self.folder, LOG_FILE)
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(path) > limit:
                shutil.copyfile(path, path + ".1")
                os.truncate(path, 0)


def _lock(fd: int) -> bool:
    """Somebody who only asks whether one lives has the lock for a moment."""
    for _ in range(50):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.002)
        else:
            return True
    return False


def _replace(path: str, text: str) -> None:
    with replacing(path) as fd:
        os.write(fd, text.encode())


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _is_front(pid: int, folder: str) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            said = file.read().split(b"\0")
    except OSError:
        return False
    return os.fsencode(folder) in said and PROGRAM.encode() in said


def _below(pid: int) -> list[int]:
    """Its children and theirs."""
    found, level = [], [pid]
    while level:
        children = []
        for parent in level:
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{parent}/task"):
                    with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as file:
                        children += [int(child) for child in file.read().split()]
        found += children
        level = children
    return found


def _measured(pid: int) -> tuple[float, int]:
    """Seconds of processor time, and bytes of memory."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0, 0
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
