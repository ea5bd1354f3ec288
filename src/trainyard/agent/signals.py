"""SIGTERM means: end the attempt. It interrupts what may be interrupted and is remembered everywhere else."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Iterator
from types import FrameType


class Told(BaseException):
    """Raised by SIGTERM inside `interruptible`. Not an Exception: nothing on the way may swallow it."""


class Signals:
    """`wake` becomes readable with every SIGTERM and SIGCHLD."""

    def __init__(self) -> None:
        self.told = False
        self.reason = ""
        self._raising = False
        self.wake, write = os.pipe()
        for fd in (self.wake, write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        if self.told:
            raise Told
        self._raising = True
        try:
            yield
        finally:
            self._raising = False

    def wait(self, until: Callable[[], bool]) -> None:
        """Whoever makes it so sends SIGCHLD. A lock would not do: a signal that the kernel gave to another thread, or
        that came just before the wait for the lock began, does not end that wait."""
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        while not until():
            poll.poll()
            with contextlib.suppress(BlockingIOError):
                os.read(self.wake, 4096)

    def tell(self, reason: str) -> None:
        """From another thread: as if SIGTERM had come."""
        self.reason = self.reason or reason
        os.kill(os.getpid(), signal.SIGTERM)

    def _on_term(self, _number: int, _frame: FrameType | None) -> None:
        self.told = True
        if self._raising:
            self._raising = False
            raise Told
