"""Built environments on this machine, one folder each below `<home>/environments`:

- <key>/: a built environment; <key>/trainyard.json is written last: without it the folder is not there for anybody.
- .state/<key>.building: held (flock) by the builder for as long as it lives, however it ends.
- .state/<key>.using: held shared by whoever runs something in it; its file time is the last use.
- .state/<key>.request, .log, .failed: what a builder was asked, what it said, why it gave up.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trainyard.blobs.base import replacing
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import EnvironmentRefused, TrainyardError
from trainyard.contract.locks import is_locked, locked

LOCK_NAME = "environment.lock"
_MARK = "trainyard.json"
_KEY = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Built:
    """What is known of a built environment: its mark."""

    key: str
    interpreter: str
    python: str  # its version
    lock: str  # text: exact versions and hashes
    notes: tuple[str, ...] = ()  # one sentence for each replacement
    variables: dict[str, str] = field(default_factory=dict)  # what its processes need beside the user's own
    size: int = 0  # bytes on disk
    seconds: float = 0.0
    built_ns: int = 0


@dataclass(frozen=True)
class Failure:
    error: TrainyardError
    time_ns: int


class Store:
    def __init__(self, home: str) -> None:
        self.root = os.path.join(os.path.abspath(home), "environments")

    def folder(self, key: str) -> str:
        return os.path.join(self.root, _checked(key))

    def state(self, key: str, kind: str) -> str:
        return os.path.join(self.root, ".state", f"{_checked(key)}.{kind}")

    @property
    def pythons(self) -> str:
        return os.path.join(self.root, ".state", "pythons.json")

    def find(self, key: str) -> Built | None:
        """None: it is not (completely) there."""
        try:
            with open(os.path.join(self.folder(key), _MARK), encoding="utf-8") as file:
                built = from_json(Built, json.load(file))
        except (OSError, ValueError, TypeError):
            return None
        return built if os.access(built.interpreter, os.X_OK) else None

    def touch(self, key: str) -> None:
        """It is used now: it is the last to be removed."""
        self._prepare()
        with open(self.state(key, "using"), "ab"):
            os.utime(self.state(key, "using"))

    @contextlib.contextmanager
    def use(self, key: str) -> Iterator[Built | None]:
        """The environment, which nobody removes for as long as the block lasts; None: it is not there."""
        self._prepare()
        with locked(self.state(key, "using"), fcntl.LOCK_SH):
            os.utime(self.state(key, "using"))
            yield self.find(key)

    def hold(self, key: str) -> int:
        """As `use`, for as long as the descriptor that it answers is open."""
        self._prepare()
        fd = os.open(self.state(key, "using"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_SH)
        os.utime(self.state(key, "using"))
        return fd

    def is_building(self, key: str) -> bool:
        return is_locked(self.state(key, "building"))

    @contextlib.contextmanager
    def building(self, key: str) -> Iterator[str]:
        """The folder to build in, which nobody else builds meanwhile. It is gone at the end unless it was marked."""
        self._prepare()
        with locked(self.state(key, "building")):
            folder = self.folder(key)
            try:
                if self.find(key) is None:
                    shutil.rmtree(folder, ignore_errors=True)  # what a killed builder left, or one that lost its Python
                yield folder
            finally:
                if self.find(key) is None:
                    shutil.rmtree(folder, ignore_errors=True)

    def mark(self, built: Built) -> None:
        """From here on it is there."""
        path = os.path.join(self.folder(built.key), _MARK)
        with open(os.path.join(self.folder(built.key), LOCK_NAME), "w", encoding="utf-8") as file:
            file.write(built.lock)
        with replacing(path) as fd, open(fd, "w", encoding="utf-8", closefd=False) as file:
            json.dump(to_json(built), file)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.state(built.key, "failed"))
        self.touch(built.key)

    def fail(self, key: str, error: TrainyardError) -> None:
        self._prepare()
        with replacing(self.state(key, "failed")) as fd, open(fd, "w", encoding="utf-8", closefd=False) as file:
            json.dump({"error": error.to_json(), "time_ns": time.time_ns()}, file)

    def failure(self, key: str) -> Failure | None:
        try:
            with open(self.state(key, "failed"), encoding="utf-8") as file:
                said: dict[str, Any] = json.load(file)
            return Failure(TrainyardError.from_json(said["error"]), int(said["time_ns"]))
        except (OSError, ValueError, KeyError):
            return None

    def read_log(self, key: str, offset: int, limit: int = 1 << 20) -> bytes:
        """What its builder said from byte `offset` on."""
        try:
            with open(self.state(key, "log"), "rb") as file:
                file.seek(max(0, offset))
                return file.read(limit)
        except FileNotFoundError:
            return b""

    def builder(self, key: str) -> int | None:
        """The process id of the builder at work."""
        if not self.is_building(key):
            return None
        try:
            with open(self.state(key, "building"), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def keys(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(name for name in os.listdir(self.root) if _KEY.fullmatch(name))
        return []

    def last_use(self, key: str) -> float:
        try:
            return os.stat(self.state(key, "using")).st_mtime
        except FileNotFoundError:
            return 0.0

    def remove(self, key: str) -> bool:
        """False: something runs in it, or it is being built."""
        self._prepare()
        try:
            with (
                locked(self.state(key, "building"), fcntl.LOCK_EX | fcntl.LOCK_NB),
                locked(self.state(key, "using"), fcntl.LOCK_EX | fcntl.LOCK_NB),
            ):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.folder(key), _MARK))  # first: from here on it is not there
                shutil.rmtree(self.folder(key), ignore_errors=True)
        except BlockingIOError:
            return False
        return True

    def sweep(self, limit: int, log: Callable[[str], None], keep: frozenset[str] = frozenset()) -> list[str]:
        """Remove what killed builders left, and the least recently used past `limit` bytes; answers what went."""
        gone, there = [], []
        for key in self.keys():
            built = self.find(key)
            if built is None:
                gone += [key] if self.remove(key) else []
            else:
                there.append((self.last_use(key), key, built.size))
        total = sum(size for _, _, size in there)
        for _, key, size in sorted(there):
            if total <= limit:
                break
            if key not in keep and self.remove(key):
                log(f"Environment {key} was removed: built environments took more than {limit >> 30} GB.")
                gone.append(key)
                total -= size
        return gone

    def _prepare(self) -> None:
        os.makedirs(os.path.join(self.root, ".state"), mode=0o700, exist_ok=True)


def size_of(folder: str) -> int:
    """Bytes on disk. A file that has other names elsewhere (uv links from its cache) counts by its share."""
    total = 0
    for at, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                about = os.lstat(os.path.join(at, name))
                total += about.st_blocks * 512 // max(1, about.st_nlink)
    return total


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise EnvironmentRefused(f"{key[:80]!r} is not the fingerprint of an environment: 32 hexadecimal digits.")
    return key
