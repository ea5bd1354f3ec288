"""The processes of one node: started in sessions of their own, watched, and ended with everything below them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping

from trainyard.agent import system

GRACE_S = 2.5  # between asking and forcing: with a heartbeat before it, a cancel stays below five seconds


class Processes:
    """`wake` is a descriptor that becomes readable when a signal came in (SIGCHLD is one)."""

    def __init__(self, wake: int, spared: Callable[[], set[int]]) -> None:
        self._wake = wake
        self._spared = spared
        self._running: dict[int, tuple[int, subprocess.Popen[bytes]]] = {}
        self._poll = select.poll()
        self._poll.register(wake, select.POLLIN)

    def start(
        self,
        rank: int,
        argv: list[str],
        variables: Mapping[str, str],
        folder: str,
        output: str,
        entering: Callable[[], None] | None = None,
    ) -> None:
        """Output goes to a file, not a pipe: a process never waits for whoever reads it. `entering` is called in the
        fork, where other threads' locks are held for ever: it may do little more than ask the kernel."""
        fd = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            process = subprocess.Popen(
                argv,
                env=dict(variables),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=fd,
                stderr=fd,
                # The kernel shares processors out between sessions first: ranks in one of their own wait less for each
                # other's threads. In a common one two ranks of torch on two cores take a tenth longer.
                start_new_session=True,
                preexec_fn=entering,
            )
        finally:
            os.close(fd)
        self._running[process.pid] = (rank, process)

    def any_running(self) -> bool:
        return bool(self._running)

    @property
    def ranks(self) -> set[int]:
        """Of those that run."""
        return {rank for rank, _ in self._running.values()}

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """(rank, code) of those that ended, as soon as a signal came in or the time is up."""
        self._poll.poll(max(0.0, seconds) * 1000)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)
        return self._reap()

    def end(self, grace_s: float) -> list[tuple[int, int]]:
        """End everything below us, daemons too: asked first when there is a grace, then forced. The grace is for the
        processes we started; what they leave behind gets none."""
        ended: list[tuple[int, int]] = []
        if grace_s > 0:
            system.send(self._below(), signal.SIGTERM)
            system.send(self._below(), signal.SIGCONT)  # what was stopped cannot hear otherwise
            until = time.monotonic() + grace_s
            while self._running and (left := until - time.monotonic()) > 0:
                ended += self.wait(min(left, 0.1))
        ended += self._reap()
        if not self._childless():
            system.end_all(self._below, lambda: ended.extend(self._reap()))
            ended += self._reap()
        return ended

    def _below(self) -> list[int]:
        if not system.LINUX:  # no /proc: the groups are what we know
            return [pid for pid in self._running if system.start_time(pid)]
        return system.descendants(os.getpid(), self._spared())

    def _childless(self) -> bool:
        """True: nothing at all is left below us (whatever loses its parent there becomes our child)."""
        if not system.LINUX:
            return not self._running
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return False

    def _reap(self) -> list[tuple[int, int]]:
        """Our processes that ended, and the orphans that came to us."""
        ended: list[tuple[int, int]] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            if pid in self._running:
                rank, process = self._running.pop(pid)
                process.returncode = os.waitstatus_to_exitcode(status)
                ended.append((rank, process.returncode))
