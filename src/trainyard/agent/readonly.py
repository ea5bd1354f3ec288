"""Data that a job may read and not write: its processes get a view of the file system of their own, in which what is
mounted for reading is read-only. Outside of it nothing changes.

The kernel gives such a view (a mount namespace) to who may mount, and to others together with a user namespace, in
which a user is who he was. It is arranged once for all processes of a node, because ranks that share memory have to be
in the same one: by a fork, which ends when the view is held by its descriptors.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trainyard.agent.system import LINUX

WANTED = "TRAINYARD_READ_ONLY_MOUNTS"  # "0": not wanted

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_BIND, _RECURSIVE, _SLAVE, _REMOUNT, _READ_ONLY = 0x1000, 0x4000, 0x80000, 0x20, 0x1
_MOUNT_SETATTR, _HERE, _ALL_BELOW = 442, -100, 0x8000  # the number is the same on every architecture
# a flag of statvfs → the mount's, which a remount has to say again
_KEPT = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
_COMMON = ("/tmp", "/dev/shm")  # noqa: S108 - a job that cannot write there does not get far
_libc = ctypes.CDLL(None, use_errno=True)
if LINUX:
    for _name in ("mount", "setns", "syscall", "unshare"):
        getattr(_libc, _name)  # found now: in a fork, another thread's lock on the loader would stay for ever


@dataclass(frozen=True)
class Guarded:
    """What is read-only, what below it is not, and the view in which that is so, as open descriptors."""

    read_only: tuple[str, ...]
    writable: tuple[str, ...]
    namespaces: tuple[tuple[int, int], ...]  # (descriptor, kind)
    as_user: bool  # in a user namespace

    def entering(self, folder: str) -> Callable[[], None]:
        """What a fork calls to be in it, standing in `folder`, before it executes anything."""

        def enter() -> None:
            for descriptor, kind in self.namespaces:
                _done(_libc.setns(descriptor, kind))
            os.chdir(folder)

        return enter


def choose(mounts: Mapping[str, bool], needed: Iterable[str]) -> tuple[list[str], list[str]]:
    """Of folders (→ writable) those to be made read-only, and those below them that stay writable. What somebody may
    write through another name, and what holds a folder that the job needs, stays as it is."""
    real = {os.path.realpath(path): writable for path, writable in sorted(mounts.items(), key=lambda it: it[1])}
    writable = [path for path, may in real.items() if may]
    needed = [os.path.realpath(path) for path in (*needed, *_COMMON)]
    found = [
        path
        for path, may in real.items()
        if not may and not any(_inside(path, it) for it in writable) and not any(_inside(it, path) for it in needed)
    ]
    top = [path for path in found if not any(path != other and _inside(path, other) for other in found)]
    return sorted(top), sorted(path for path in writable if any(_inside(path, it) for it in top))


def guard(read_only: Sequence[str], writable: Sequence[str]) -> Guarded:
    """OSError: the kernel does not let us."""
    if not LINUX:
        raise OSError(errno.ENOSYS, "it has no mount namespaces")
    if os.geteuid() == 0:
        with contextlib.suppress(PermissionError):  # root of a container, who may do no more than others
            return _arranged(read_only, writable, as_user=False)
    _refuse_where_drivers_load()
    return _arranged(read_only, writable, as_user=True)


def _refuse_where_drivers_load() -> None:
    """NVIDIA's library makes its devices by a setuid program when they are first used, which a user namespace would
    not let it do."""
    if os.path.exists("/proc/driver/nvidia") and not os.path.exists("/dev/nvidia-uvm"):
        raise OSError(errno.EBUSY, "the GPU's driver still has to be loaded")


def _arranged(read_only: Sequence[str], writable: Sequence[str], *, as_user: bool) -> Guarded:
    kinds = {"user": _NEW_USER, "mnt": _NEW_MOUNTS} if as_user else {"mnt": _NEW_MOUNTS}
    with _pipe() as (hears, says), _pipe() as (waits, lets_go):
        pid = os.fork()
        if pid == 0:
            try:
                os.close(lets_go[0])
                _arrange(read_only, writable, as_user=as_user)
                os.write(says[0], b"0")
                os.read(waits[0], 1)  # until it is held by its descriptors
            except OSError as error:
                os.write(says[0], str(error.errno).encode())
            finally:
                os._exit(0)
        _shut(says)
        try:
            said = int(os.read(hears[0], 16) or b"5")
            if said:
                raise OSError(said, os.strerror(said))
            opened = [(os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kinds[name]) for name in kinds]
        finally:
            _shut(lets_go)
            os.waitpid(pid, 0)
    return Guarded(tuple(read_only), tuple(writable), tuple(opened), as_user)


def _arrange(read_only: Sequence[str], writable: Sequence[str], *, as_user: bool) -> None:
    user, group = os.geteuid(), os.getegid()
    _done(_libc.unshare(_NEW_MOUNTS | (_NEW_USER if as_user else 0)))
    if as_user:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    # what is mounted outside later is seen, and nothing of ours is seen outside
    _mount(None, "/", _RECURSIVE | _SLAVE)
    for path in read_only:
        _mount(path, path, _BIND | _RECURSIVE)
        _set_read_only(path)
    for path in writable:
        _mount(path, path, _BIND | _RECURSIVE)
        _set_read_only(path, False)


def _set_read_only(path: str, wanted: bool = True) -> None:
    change = (ctypes.c_uint64 * 4)(int(wanted), int(not wanted), 0, 0)  # set, cleared, propagation, user namespace
    name = os.fsencode(path)
    if _libc.syscall(_MOUNT_SETATTR, _HERE, name, _ALL_BELOW, ctypes.byref(change), ctypes.sizeof(change)) == 0:
        return
    if ctypes.get_errno() != errno.ENOSYS:
        _done(-1)
    flags = sum(mount for stat, mount in _KEPT.items() if os.statvfs(path).f_flag & stat)  # a kernel before 5.12
    _mount(None, path, _REMOUNT | _BIND | flags | (_READ_ONLY if wanted else 0))


def _mount(source: str | None, target: str, flags: int) -> None:
    name = None if source is None else os.fsencode(source)
    _done(_libc.mount(name, os.fsencode(target), None, ctypes.c_ulong(flags), None))


def _done(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@contextlib.contextmanager
def _pipe() -> Iterator[tuple[list[int], list[int]]]:
    read, write = os.pipe()
    ends = [read], [write]
    try:
        yield ends
    finally:
        for end in ends:
            _shut(end)


def _shut(end: list[int]) -> None:
    while end:
        os.close(end.pop())
