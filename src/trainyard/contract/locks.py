"""Locks between processes of one machine: on a file, by the kernel, which lets go of them however their holder ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator


@contextlib.contextmanager
def locked(path: str, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Holds the lock on `path`, a file that is made for it. Waits for whoever has it, unless `how` has LOCK_NB."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, how)
        yield
    finally:
        os.close(fd)


def is_locked(path: str) -> bool:
    """Whether some live process holds the lock on `path`. Asked with a shared lock, so that two who ask at the same
    moment do not take each other for the holder."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
