"""`python -m trainyard.agent.guardian --home H`: one warm process per home that forks agents and lets none get lost.

It has imported what an agent needs, so an agent is there in a millisecond. It is the subreaper above the agents, which
are subreapers themselves: whatever becomes its child without being an agent was left behind by a dead one, and is
ended. It serves JSON lines on a Unix socket that only its owner can open, from a single thread.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from trainyard import __version__
from trainyard.agent import cgroup, life, system
from trainyard.agent.fork import run_agent
from trainyard.agent.roster import Attempt, Placed, Roster, noted_exit, write_pid
from trainyard.client import overlay
from trainyard.client.home import Home
from trainyard.contract.attempts import ATTEMPT_VARIABLE
from trainyard.contract.errors import BackendRefused, InvalidRequest, TrainyardError
from trainyard.environments import realize

IDLE_S = 600.0
_SWEEP_EVERY_S = 0.005
_LOOK_EVERY_S = 0.25  # at agents that cannot be waited for by an event
_PRUNE_EVERY_S = 3600.0
_LONGEST_PATH = 100  # of a socket: the kernel's limit is 108 bytes with the end mark
_LONGEST_LINE = 64 << 20
_LOCK_PATIENCE_S = 1.0
_LEAVE_S = 10.0  # what the agents of an attempt have to end when one of them has died


class Guardian:
    def __init__(self, home: str, idle_s: float, lock: int) -> None:
        self._home = home
        self._lock = lock
        self._idle_s = idle_s
        self._roster = Roster(home)
        self._groups = cgroup.usable_root()
        self._selector = selectors.DefaultSelector()
        self._wake = _wake_on_signals()
        self._selector.register(self._wake, selectors.EVENT_READ, lambda _: None)
        self._listener = _listen(home)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._lines: dict[socket.socket, bytearray] = {}
        self._live: dict[int, tuple[Attempt, Placed]] = {}  # by process id
        self._watched: dict[int, int] = {}  # pid of an agent that is not our child → its pidfd
        self._services: dict[int, subprocess.Popen[bytes]] = {}
        self._dirty: set[str] = set()  # attempts whose agents are gone, and perhaps not all of their processes
        self._asked_at = time.monotonic()
        self._pruned_at = 0.0
        self._stopping = False

    def serve(self) -> None:
        system.become_subreaper()
        self._roster.load()
        for attempt in self._roster.attempts.values():
            self._adopt(attempt)
        while not self._done():
            for key, _ in self._selector.select(self._patience()):
                key.data(key.fileobj)
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, 4096)
            self._reap()
            self._force()
            self._sweep()
            if time.monotonic() - self._pruned_at > _PRUNE_EVERY_S:
                self._pruned_at = time.monotonic()
                self._roster.prune()
        address = self._listener.getsockname()
        aside = os.path.dirname(address) != self._home  # in a folder that is nobody else's
        if aside or not self._homeless():
            with contextlib.suppress(OSError):
                os.unlink(address)
        if aside:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(address))

    # The loop's parts

    def _done(self) -> bool:
        busy = bool(self._dirty or self._live)
        idle = time.monotonic() - self._asked_at > self._idle_s
        return not busy and not self._lines and (self._stopping or idle or self._homeless())

    def _homeless(self) -> bool:
        """Somebody removed the home: whoever makes it again gets a guardian of its own."""
        try:
            return os.stat(os.path.join(self._home, "guardian.lock")).st_ino != os.fstat(self._lock).st_ino
        except FileNotFoundError:
            return True

    def _patience(self) -> float:
        if self._dirty:
            return _SWEEP_EVERY_S
        now = time.monotonic()
        times = [attempt.kill_at for attempt, _ in self._live.values() if attempt.kill_at is not None]
        if self._unwatchable():
            times.append(now + _LOOK_EVERY_S)
        return max(0.0, min([*times, self._asked_at + self._idle_s + 0.1, now + 60.0]) - now)

    def _reap(self) -> None:
        """Note which agents ended: our children by their status, adopted ones by being gone."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid in self._live:
                self._ended(*self._live[pid], os.waitstatus_to_exitcode(status))
            elif pid in self._services:
                self._services.pop(pid).returncode = os.waitstatus_to_exitcode(status)
        for pid in [*self._watched, *self._unwatchable()]:
            if system.start_time(pid) is None and pid in self._live:
                attempt, agent = self._live[pid]
                self._ended(attempt, agent, noted_exit(attempt.file(agent.node, "exit")))

    def _ended(self, attempt: Attempt, agent: Placed, code: int) -> None:
        attempt.ended(agent, code)
        del self._live[agent.pid]
        if (fd := self._watched.pop(agent.pid, None)) is not None:
            self._selector.unregister(fd)
            os.close(fd)
        self._dirty.add(attempt.id)
        if code != 0 and attempt.alive():  # the others would wait for it for ever: they deliver what they have and end
            self._cancel(attempt.id, _LEAVE_S)

    def _force(self) -> None:
        now = time.monotonic()
        for attempt, agent in self._live.values():
            if attempt.kill_at is not None and now >= attempt.kill_at:
                system.send([agent.pid], signal.SIGKILL)

    def _sweep(self) -> None:
        """End what dead agents left; an attempt is over only when nothing of it is there."""
        if not self._dirty:
            return
        attempts = [self._roster.attempts[name] for name in self._dirty]
        held = [group for attempt in attempts for group in attempt.groups_of_the_dead() if not cgroup.remove(group)]
        for group in held:
            cgroup.kill(group, self._spared())
        if system.strike(self._left_behind) or held:
            return  # look again in a moment
        for attempt in attempts:
            attempt.clean = not attempt.alive()
        self._dirty.clear()

    def _left_behind(self) -> list[int]:
        known = self._live.keys() | self._services.keys()
        orphans = [pid for pid in system.children(os.getpid()) if pid not in known]
        orphans += [pid for orphan in orphans for pid in system.descendants(orphan, self._spared())]
        # those of an adopted agent did not come to us: they are found by their marker, once no agent of it lives
        dirty = [self._roster.attempts[name] for name in self._dirty]
        unseen = [attempt.id for attempt in dirty if attempt.adopted and not attempt.alive()]
        orphans += system.marked(ATTEMPT_VARIABLE, unseen) if unseen else []
        spared = self._spared() if orphans else set()
        return [pid for pid in orphans if pid not in spared and pid not in known and system.start_time(pid)]

    def _spared(self) -> set[int]:
        """A service that an agent had to start is everybody's."""
        running = Home(self._home).running()
        return {running.pid} if running else set()

    def _unwatchable(self) -> list[int]:
        return [pid for pid, (attempt, _) in self._live.items() if attempt.adopted and pid not in self._watched]

    def _adopt(self, attempt: Attempt) -> None:
        """An attempt of a guardian before us. If that one was killed in the middle of placing it, it is ended whole."""
        attempt.adopted = True
        names = [_group_name(attempt.id, agent.node) for agent in attempt.agents]
        attempt.groups = [os.path.join(self._groups, name) if self._groups else None for name in names]
        if any(agent.pid == 0 for agent in attempt.agents):
            attempt.kill_at = 0.0
        for agent in attempt.alive():
            self._live[agent.pid] = (attempt, agent)
            with contextlib.suppress(OSError, AttributeError):
                fd = os.pidfd_open(agent.pid)
                self._watched[agent.pid] = fd
                self._selector.register(fd, selectors.EVENT_READ, lambda _: None)
        if not attempt.alive():
            self._dirty.add(attempt.id)
        elif any(agent.code not in (None, 0) for agent in attempt.agents):
            self._cancel(attempt.id, _LEAVE_S)

    # Requests

    def _accept(self, listener: Any) -> None:
        connection, _ = listener.accept()
        connection.settimeout(5.0)
        self._lines[connection] = bytearray()
        self._selector.register(connection, selectors.EVENT_READ, self._read)

    def _read(self, connection: Any) -> None:
        buffer = self._lines[connection]
        try:
            data = connection.recv(1 << 16)
            buffer += data
            while b"\n" in buffer:
                line, _, rest = bytes(buffer).partition(b"\n")
                buffer[:] = rest
                connection.sendall(json.dumps(self._answer(line)).encode() + b"\n")
        except OSError:
            data = b""
        if not data or len(buffer) > _LONGEST_LINE:
            self._selector.unregister(connection)
            del self._lines[connection]
            connection.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        self._asked_at = time.monotonic()
        try:
            request = json.loads(line)
            verb = self._verbs()[request["verb"]]
            return {"answer": verb(request)}
        except TrainyardError as error:
            return {"error": error.to_json()}
        except (ValueError, KeyError, TypeError) as error:
            return {"error": InvalidRequest(f"The guardian does not understand this request: {error!r}.").to_json()}

    def _verbs(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "place": self._place,
            "observe": lambda request: self._observe(request["ids"]),
            "cancel": lambda request: self._cancel(request["id"], float(request["grace_s"])),
            "logs": lambda request: self._roster.logs(request["id"]),
            "list": lambda _: {"pid": os.getpid(), "version": __version__, "attempts": self._observe(None)},
            "service": lambda _: self._start_service(),
            "stop": lambda _: self._stop(),
        }

    def _place(self, request: dict[str, Any]) -> str:
        attempt_id, orders = str(request["attempt_id"]), request["orders"]
        if attempt_id in self._roster.attempts:
            return "placed"
        if request["version"] != __version__ and not self._live:
            self._stopping = True
            return "retry"  # an upgrade: the next guardian is of the new version
        attempt = self._roster.open(attempt_id, len(orders))
        try:
            for order in orders:
                self._fork(attempt, order, tuple(request["argv"]), request["variables"])
        except OSError as error:
            system.send((agent.pid for agent in attempt.alive()), signal.SIGKILL)
            if not attempt.agents:
                self._roster.drop(attempt)
            raise BackendRefused(
                f"This machine cannot start {len(orders)} agents: {error.strerror}. Free memory, processes or disk."
            ) from error
        return "placed"

    def _fork(self, attempt: Attempt, order: dict[str, Any], argv: tuple[str, ...], variables: dict[str, str]) -> None:
        node = int(order["node"])
        group = cgroup.make(self._groups, _group_name(attempt.id, node))
        log = os.open(attempt.file(node, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            pid = os.fork()
            if pid == 0:
                self._become_agent(attempt, node, log)
                run_agent(attempt, node, json.dumps(order), argv, variables, group)
        finally:
            os.close(log)
        agent = Placed(node, pid)
        self._live[pid] = (attempt, agent)
        attempt.agents.append(agent)
        attempt.groups.append(group)

    def _become_agent(self, attempt: Attempt, node: int, log: int) -> None:
        """In the fork: nothing of the guardian's stays but its memory."""
        os.setsid()
        write_pid(attempt.file(node, "pid"))
        os.close(signal.set_wakeup_fd(-1))
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        self._selector.close()
        self._listener.close()
        for connection in self._lines:
            connection.close()
        for fd in (self._lock, self._wake, *self._watched.values()):
            os.close(fd)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(null)

    def _observe(self, ids: list[str] | None) -> dict[str, tuple[str, str]]:
        names = self._roster.attempts if ids is None else [name for name in ids if name in self._roster.attempts]
        return {name: self._roster.attempts[name].state() for name in names}

    def _cancel(self, attempt_id: str, grace_s: float) -> str:
        attempt = self._roster.attempts.get(attempt_id)
        if attempt is None or not attempt.alive():
            return "over"
        until = time.monotonic() + max(0.0, grace_s)
        if grace_s > 0:
            system.send((agent.pid for agent in attempt.alive()), signal.SIGTERM)
        attempt.kill_at = until if attempt.kill_at is None else min(attempt.kill_at, until)
        return "ending"

    def _start_service(self) -> str:
        """For agents and jobs: what they start themselves would end with them."""
        with open(os.path.join(self._home, "service.log"), "ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "trainyard.server", "--home", self._home],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
            )
        self._services[process.pid] = process
        return "starting"

    def _stop(self) -> str:
        """End, once nothing runs."""
        self._stopping = True
        return "stopping"


def _group_name(attempt_id: str, node: int) -> str:
    return f"{cgroup.PREFIX}{attempt_id}-{node}"


def _wake_on_signals() -> int:
    read, write = os.pipe()
    for fd in (read, write):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return read


def _listen(home: str) -> socket.socket:
    """The address is in <home>/guardian.addr: the home's own path may be too long for a socket."""
    path = os.path.join(home, "guardian.sock")
    if len(os.fsencode(path)) > _LONGEST_PATH:
        path = os.path.join(tempfile.mkdtemp(prefix="trainyard-"), "guardian.sock")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a guardian that was killed: we hold the lock, so none lives
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(mask)
    listener.listen(128)
    address = os.path.join(home, "guardian.addr")
    with open(address + ".new", "w", encoding="utf-8") as file:
        file.write(path)
    os.rename(address + ".new", address)
    return listener


def main() -> int:
    parser = argparse.ArgumentParser(description="Forks agents on this machine.")
    parser.add_argument("--home", required=True)
    parser.add_argument("--idle-s", type=float, default=IDLE_S)
    options = parser.parse_args()
    os.makedirs(options.home, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(options.home, "guardian.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not system.take_lock(lock, _LOCK_PATIENCE_S):
        return 0  # this home has a guardian
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())  # for an agent that we may be below: it must not end us with its run
    cgroup.leave()
    life.warm()
    realize.warm(options.home)
    guardian = Guardian(options.home, options.idle_s, lock)
    with contextlib.suppress(OSError):
        overlay.ensure(options.home)
    gc.collect()
    gc.freeze()  # what is here now is shared with every fork
    guardian.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
