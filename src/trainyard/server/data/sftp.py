"""Folders on machines that are reached by SFTP, through the system's own `ssh`. Only the service uses it: credentials
do not leave it. Connections are kept for a while, since making one takes longer than most things done with it."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from trainyard.backends.ssh_channel import Machine
from trainyard.blobs.depots.base import Depot, checked_path
from trainyard.blobs.depots.web import refuse_private_host
from trainyard.contract.data import DataFile
from trainyard.contract.errors import BackendRefused, BadCredentials, DataChanged, DataRefused, NoSuchData
from trainyard.server.data.sftp_wire import Attributes, Sftp

_KEPT_S = 30.0
_numbers = itertools.count()
_idle: dict[tuple[Machine, str], list[tuple[float, Sftp]]] = {}
_lock = threading.Lock()


def sftp_depot(location: dict[str, Any], secrets: dict[str, str], folder: str, *, private: bool) -> Depot:
    """`folder`: where the host keys that were seen are remembered."""
    host, username = str(location.get("host", "")), str(location.get("username", ""))
    if not host or not username or host.startswith("-") or username.startswith("-") or "@" in host:
        raise DataRefused("SFTP needs a host and a username, such as host='files.example', username='ada'.")
    if not private:
        refuse_private_host(host, int(location.get("port") or 22))
    given = {name: secrets.get(name, "") for name in ("private_key", "passphrase", "password")}
    machine = Machine(host, username, int(location.get("port") or 22), **given)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return SftpDepot(machine, str(location.get("path") or "."), os.path.join(folder, "known_hosts"))


class SftpDepot(Depot):
    """Times come in whole seconds: of what others write, two changes within one that leave the size as it was are one
    version. Of what is written here, each is its own. Links to folders are not followed."""

    def __init__(self, machine: Machine, root: str, known_hosts: str) -> None:
        self._machine, self._known_hosts = machine, known_hosts
        self._root = root.rstrip("/") or "/"
        self.key = f"sftp:{machine}:{self._root}"

    def list(self, folder: str) -> Iterator[DataFile]:
        folder = checked_path(folder)
        with self._connected() as sftp:
            yield from self._walk(sftp, folder)

    def look(self, path: str) -> DataFile | None:
        path = checked_path(path)
        with self._connected() as sftp:
            about = sftp.look(self._where(path))
        return _file(path, about) if about is not None and about.is_file else None

    def read(self, path: str, offset: int = 0, version: str = "") -> Iterator[bytes]:
        path = checked_path(path)
        with self._connected() as sftp:
            about = sftp.look(self._where(path))
            if about is None or not about.is_file:
                raise NoSuchData(f"There is no file {path!r} on {self._machine}. Check its path.")
            with sftp.reading(self._where(path)) as (before, blocks, now):
                seen = _file(path, before).version
                if version and seen != version:
                    raise DataChanged(f"{path} has changed since it was looked at. Try again when it is written.")
                yield from blocks(offset)
                if _file(path, now()).version != seen:
                    raise DataChanged(f"{path} changed while it was read. Try again when it is written.")

    def put(self, path: str, file: str) -> None:
        where = self._where(checked_path(path))
        aside = f"{os.path.dirname(where)}/.{os.getpid()}-{time.time_ns():x}-{next(_numbers)}.new"
        with self._connected() as sftp, open(file, "rb") as content:
            try:
                sftp.write(aside, content)
            except NoSuchData:
                _make_folders(sftp, os.path.dirname(where))
                content.seek(0)
                sftp.write(aside, content)
            try:
                before, after = sftp.look(where), sftp.look(aside)
                if before is not None and after is not None and after.changed_s <= before.changed_s:
                    sftp.date(aside, before.changed_s + 1)  # else it could pass for what it replaces
                sftp.rename(aside, where)
            except BaseException:
                if sftp.open:
                    sftp.remove(aside)
                raise

    def delete(self, path: str) -> None:
        with self._connected() as sftp:
            sftp.remove(self._where(checked_path(path)))

    def check(self, *, create: bool = False) -> None:
        with self._connected() as sftp:
            about = sftp.look(self._root)
            if about is None and create:
                _make_folders(sftp, self._root)
                about = sftp.look(self._root)
            if about is None or not about.is_folder:
                raise NoSuchData(f"There is no folder {self._root!r} on {self._machine}. Make it, or correct the path.")
            sftp.names(self._root)

    def _where(self, path: str) -> str:
        return "/".join(part for part in (self._root.rstrip("/"), path) if part) if path else self._root

    def _walk(self, sftp: Sftp, below: str) -> Iterator[DataFile]:
        """Sorted, so that the same files come in the same order everywhere."""
        for name, about in sorted(sftp.names(self._where(below)) or (), key=lambda it: it[0]):
            path = f"{below}/{name}" if below else name
            if about.is_link:
                led = sftp.look(self._where(path))
                if led is None or not led.is_file:
                    continue
                about = led
            if about.is_folder and name not in (".", ".."):
                yield from self._walk(sftp, path)
            elif about.is_file and not (name.startswith(".") and name.endswith(".new")):
                yield _file(path, about)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Sftp]:
        """A connection of the caller's own for as long as the block lasts."""
        place = (self._machine, self._known_hosts)
        sftp = _taken(place)
        try:
            sftp = sftp or Sftp(*place)
        except BackendRefused as error:
            raise BadCredentials(error.message) from error
        try:
            yield sftp
        finally:
            if sftp.open:
                with _lock:
                    _idle.setdefault(place, []).append((time.monotonic(), sftp))


def _taken(place: tuple[Machine, str]) -> Sftp | None:
    """One that is there already. Those that nobody needed for long are closed on the way."""
    now = time.monotonic()
    with _lock:
        old = [it for kept in _idle.values() for it in kept if now - it[0] > _KEPT_S or not it[1].open]
        for known, kept in _idle.items():
            _idle[known] = [it for it in kept if it not in old]
        found = _idle[place].pop()[1] if _idle.get(place) else None
    for _, sftp in old:
        sftp.close()
    return found


def _make_folders(sftp: Sftp, folder: str) -> None:
    if not sftp.make_folder(folder) and sftp.look(folder) is None and os.path.dirname(folder) not in ("", folder):
        _make_folders(sftp, os.path.dirname(folder))
        sftp.make_folder(folder)


def _file(path: str, about: Attributes) -> DataFile:
    return DataFile(path, about.size, f"{about.changed_s:x}-{about.size:x}", about.changed_s * 1_000_000_000)
