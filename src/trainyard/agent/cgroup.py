"""A control group per agent, where the system lets us make one: nothing in it can leave it, and one write ends it all.

Everywhere else the subreapers and the marker do the same work a little slower, so every refusal here is silent.
"""

from __future__ import annotations

import contextlib
import os
import threading

PREFIX = "trainyard-"  # of every group of ours
_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def usable_root() -> str | None:
    """The cgroup v2 folder we are in, if we may make groups below it that can be ended as a whole."""
    for mount in _MOUNTS:
        try:
            folder = _own(mount)
            if not os.path.exists(os.path.join(folder, "cgroup.procs")) or not os.access(folder, os.W_OK):
                continue
            probe = os.path.join(folder, f"{PREFIX}probe-{os.getpid()}")
            os.mkdir(probe)
            whole = os.path.exists(os.path.join(probe, "cgroup.kill"))
            os.rmdir(probe)
            if whole:
                return folder
        except OSError:
            continue
    return None


def leave() -> None:
    """Out of an attempt's group: a guardian may have been started by a service that an agent had to start."""
    for mount in _MOUNTS:
        own = _own(mount)
        parts = own.split(os.sep) if own else []
        inside = next((at for at, part in enumerate(parts) if part.startswith(PREFIX)), None)
        if inside is not None:
            _write(os.sep.join(parts[:inside]), "cgroup.procs", "0")


def make(root: str | None, name: str) -> str | None:
    if root is None:
        return None
    folder = os.path.join(root, name)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return None
    return folder


def enter(folder: str | None) -> bool:
    """Move this process (and what it will start) into the group."""
    return folder is not None and _write(folder, "cgroup.procs", "0")


class Entering:
    """`enter`, aside: the kernel may take many milliseconds for it, in which there is other work to do. What must be in
    the group is started after `wait`."""

    def __init__(self, folder: str | None) -> None:
        self._thread = threading.Thread(target=enter, args=(folder,), name="cgroup", daemon=True) if folder else None
        if self._thread is not None:
            self._thread.start()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def members(folder: str | None) -> list[int]:
    try:
        with open(os.path.join(folder or "", "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]
    except OSError:
        return []


def kill(folder: str | None, spared: set[int]) -> None:
    """End all members. A service that a member had to start is not the attempt's: it is let out first."""
    if folder is None:
        return
    for pid in spared.intersection(members(folder)):
        _write(os.path.dirname(folder), "cgroup.procs", str(pid))
    _write(folder, "cgroup.kill", "1")


def remove(folder: str | None) -> bool:
    """False: something is still in it."""
    if folder is None:
        return True
    with contextlib.suppress(FileNotFoundError):
        try:
            os.rmdir(folder)
        except OSError:
            return not members(folder)
    return True


def _own(mount: str) -> str:
    """The folder of the group we are in, if `mount` is where groups are; else a folder that is none."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        own = next((line[3:].strip() for line in file if line.startswith("0::")), "")
    return os.path.join(mount, own.lstrip("/")).rstrip("/")


def _write(folder: str, name: str, text: str) -> bool:
    try:
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    except OSError:
        return False
    return True
