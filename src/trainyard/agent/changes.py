"""Wakes a thread when a file grew or a folder got a new one: inotify where there is one, else by looking often."""

from __future__ import annotations

import contextlib
import os
import select

from trainyard.agent.system import LIBC, LINUX

_IN_MODIFY, _IN_CREATE, _IN_ONESHOT = 0x2, 0x100, 0x80000000
_CLOEXEC_NONBLOCK = os.O_CLOEXEC | os.O_NONBLOCK
_LOOK_EVERY_S = 0.05


class Changes:
    """`wait` returns when something watched changed, `wake` was called, or the time is up.

    A file's watch goes off once and has to be set again: a training loop that writes a million records pays for one
    notice per report, not for one per record.
    """

    def __init__(self) -> None:
        self._wake_read, self._wake_write = os.pipe2(_CLOEXEC_NONBLOCK) if LINUX else _pipe()
        self._poll = select.poll()
        self._poll.register(self._wake_read, select.POLLIN)
        self._fd = LIBC.inotify_init1(_CLOEXEC_NONBLOCK) if LIBC is not None else -1
        if self._fd >= 0:
            self._poll.register(self._fd, select.POLLIN)

    def watch_file(self, path: str) -> None:
        """The next write to `path` wakes the waiter, once."""
        self._watch(path, _IN_MODIFY | _IN_ONESHOT)

    def watch_folder(self, path: str) -> None:
        """New files in `path` wake the waiter."""
        self._watch(path, _IN_CREATE)

    def wait(self, seconds: float) -> None:
        limit = seconds if self._fd >= 0 else min(seconds, _LOOK_EVERY_S)
        self._poll.poll(max(0.0, limit) * 1000)
        for fd in (self._wake_read, self._fd):
            with contextlib.suppress(OSError):
                os.read(fd, 65536)

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"w")

    def close(self) -> None:
        for fd in (self._wake_read, self._wake_write, self._fd):
            if fd >= 0:
                os.close(fd)

    def _watch(self, path: str, mask: int) -> None:
        if LIBC is not None and self._fd >= 0 and LIBC.inotify_add_watch(self._fd, os.fsencode(path), mask) < 0:
            self._poll.unregister(self._fd)  # the user's watches are used up: look instead
            os.close(self._fd)
            self._fd = -1


def _pipe() -> tuple[int, int]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    return read, write
