"""What the kernel tells about processes, and how a whole tree of them is ended. On systems without /proc and prctl the
questions have weaker answers (process groups only); nothing fails."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Container, Iterable

LINUX = sys.platform.startswith("linux")
_PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True) if LINUX else None  # made once: every agent would pay for its own


def become_subreaper() -> bool:
    """From now on whatever loses its parent below us becomes our child: nobody can slip away by forking twice."""
    return LIBC is not None and bool(LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def processors() -> int:
    """How many we may run on."""
    return len(os.sched_getaffinity(0)) if LINUX else os.cpu_count() or 1


def start_time(pid: int) -> str | None:
    """When `pid` was started, in the kernel's words; with the pid it names a process for good. None: it is gone."""
    if not LINUX:
        return "alive" if _exists(pid) else None
    fields = stat(pid)
    return None if fields is None or fields[0] in "ZX" else fields[19]


def stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the state on (the name before it may hold anything)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii").split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def children(pid: int) -> list[int]:
    """The direct children of `pid`, a single-threaded process; those that have ended may be among them."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:  # a kernel without that file
        return [child for child, parent in _parents().items() if parent == pid]


def descendants(pid: int, spared: Container[int] = ()) -> list[int]:
    """Every live process below `pid`, without those of `spared` and all that is below them."""
    below: dict[int, list[int]] = {}
    for child, parent in _parents().items():
        below.setdefault(parent, []).append(child)
    found, queue = [], [pid]
    while queue:
        children_of = [child for child in below.get(queue.pop(), ()) if child not in spared]
        found += children_of
        queue += children_of
    return found


def marked(variable: str, values: Iterable[str]) -> list[int]:
    """Every process that was started with `variable` set to one of `values`, ourselves excepted."""
    wanted = {f"{variable}={value}".encode() for value in values}
    if not LINUX or not wanted:
        return []
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if not wanted.isdisjoint(file.read().split(b"\0")) and start_time(int(name)):
                    found.append(int(name))
    return found


def take_lock(fd: int, patience_s: float) -> bool:
    """Whether the lock on `fd` is ours now. One who is just ending, or only looks, has it for a moment longer."""
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        else:
            return True


def send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def strike(find: Callable[[], list[int]]) -> bool:
    """One blow at everything `find` finds; False when it found nothing.

    Each is stopped first, until a look finds no new one: what is stopped cannot fork, so none is born behind our back
    while the others die.
    """
    held: set[int] = set()
    for _ in range(100):
        new = set(find()) - held
        if not new:
            break
        send(new, signal.SIGSTOP)
        held |= new
    send(held, signal.SIGKILL)
    return bool(held)


def end_all(find: Callable[[], list[int]], reap: Callable[[], object], deadline_s: float = 10.0) -> bool:
    """Strike until nothing is found. False: something cannot be killed (it hangs in the kernel)."""
    until = time.monotonic() + deadline_s
    while strike(find):
        reap()
        if time.monotonic() > until:
            return False
        time.sleep(0.002)  # the killed need a moment to go; there is no event for processes that are not our children
        reap()
    return True


def _parents() -> dict[int, int]:
    """Live process → its parent."""
    if not LINUX:
        return {}
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := stat(int(name))) is not None and fields[0] not in "ZX":
            found[int(name)] = int(fields[1])
    return found


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
