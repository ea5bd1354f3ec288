"""The logs of runs, as files that only grow.

A run's folder holds one numbered file per log and an `index`: a line of JSON for each stream that began, `[number,
attempt, base, name]`. Names stay in the index and never become paths. `base` is where an attempt's bytes begin: a later
attempt goes on behind the earlier ones. How much of a stream is here is the file's size and nothing else, so a service
that is killed between two writes knows on its return exactly what it has.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from trainyard.contract.errors import DiskFull
from trainyard.contract.names import check_file_name

_STRIPES = 16
_REMEMBERED = 256  # runs, in each stripe


@dataclass
class Log:
    """One log of a run. Stays valid while it grows: readers need not ask the store again."""

    path: str
    spans: list[tuple[int, int]] = field(default_factory=list)  # (attempt, base), in the order they began

    @property
    def attempt(self) -> int:
        return self.spans[-1][0]

    @property
    def base(self) -> int:
        return self.spans[-1][1]

    def size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0  # its stream began, its first byte has not come

    def read(self, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset` on; none at the end."""
        if limit <= 0:
            return b""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        try:
            return os.pread(fd, limit, max(0, offset))
        finally:
            os.close(fd)

    def length_of(self, attempt: int) -> int:
        for at, (owner, base) in enumerate(self.spans):
            if owner == attempt:
                return (self.spans[at + 1][1] if at + 1 < len(self.spans) else self.size()) - base
        return 0


class LogStore:
    """Safe to use from any thread. `on_growth` is called with the run's key after bytes were added."""

    def __init__(self, root: str, on_growth: Callable[[int], None] | None = None) -> None:
        self._root = root
        self._on_growth = on_growth
        self._stripes = [_Stripe() for _ in range(_STRIPES)]

    def append(self, run_key: int, attempt: int, name: str, offset: int, data: bytes) -> int:
        """Add what of `data` (which begins at byte `offset` of this attempt's stream) is new; answers how many bytes of
        the stream are here now. Behind a gap nothing is added, nor to an attempt that a later one has followed."""
        name = check_file_name(name)
        with self._index(run_key) as index:
            log = index.stream(name, attempt)
            if log is None or log.attempt != attempt:
                return 0 if log is None else log.length_of(attempt)
            acked = log.size() - log.base
            if offset > acked or offset + len(data) <= acked:
                return acked
            _append(log.path, data[acked - offset :])
        if self._on_growth is not None:
            self._on_growth(run_key)
        return offset + len(data)

    def acked(self, run_key: int, attempt: int, name: str) -> int:
        """How many bytes of an attempt's stream are here."""
        with self._index(run_key) as index:
            log = index.logs.get(check_file_name(name))
            return log.length_of(attempt) if log is not None else 0

    def listing(self, run_key: int) -> list[tuple[str, int]]:
        """Name and size of each log of a run, by name."""
        with self._index(run_key) as index:
            logs = sorted(index.logs.items())
        return [(name, log.size()) for name, log in logs]

    def find(self, run_key: int, name: str) -> Log | None:
        """None: the run has no such log (yet)."""
        with self._index(run_key) as index:
            return index.logs.get(check_file_name(name))

    def read(self, run_key: int, name: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset` on; none at the end, and none of a log that is not there."""
        log = self.find(run_key, name)
        return log.read(offset, limit) if log is not None else b""

    def forget(self, run_key: int) -> None:
        """All logs of a run, gone."""
        stripe = self._stripes[run_key % _STRIPES]
        with stripe.lock:
            stripe.indexes.pop(run_key, None)
            shutil.rmtree(self._folder(run_key), ignore_errors=True)

    @contextlib.contextmanager
    def _index(self, run_key: int) -> Iterator[_Index]:
        """The run's index, ours for as long as the block lasts."""
        stripe = self._stripes[run_key % _STRIPES]
        with stripe.lock:
            index = stripe.indexes.get(run_key)
            if index is None:
                index = stripe.indexes[run_key] = _Index.load(self._folder(run_key))
                if len(stripe.indexes) > _REMEMBERED:
                    stripe.indexes.popitem(last=False)
            yield index

    def _folder(self, run_key: int) -> str:
        return os.path.join(self._root, str(int(run_key)))


class _Stripe:
    """Runs that share a lock, and those of their indexes we have read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.indexes: OrderedDict[int, _Index] = OrderedDict()


@dataclass
class _Index:
    folder: str
    logs: dict[str, Log] = field(default_factory=dict)

    @staticmethod
    def load(folder: str) -> _Index:
        index = _Index(folder)
        path = os.path.join(folder, "index")
        try:
            with open(path, "rb") as file:
                text = file.read()
        except FileNotFoundError:
            return index
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):  # we were killed while we wrote it: nobody was told of that stream
            os.truncate(path, len(whole))
        for line in whole.splitlines():
            index._add(*json.loads(line))
        return index

    def stream(self, name: str, attempt: int) -> Log | None:
        """The log, with a stream of this attempt begun in it. None: a later attempt has begun and this never did."""
        log = self.logs.get(name)
        if log is not None and any(owner >= attempt for owner, _ in log.spans):
            return log if any(owner == attempt for owner, _ in log.spans) else None
        number = int(os.path.basename(log.path)) if log is not None else len(self.logs) + 1
        entry = (number, attempt, log.size() if log is not None else 0, name)
        with _disk_full_means(self.folder):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        _append(os.path.join(self.folder, "index"), json.dumps(entry).encode() + b"\n", undo=True)
        self._add(*entry)
        return self.logs[name]

    def _add(self, number: int, attempt: int, base: int, name: str) -> None:
        log = self.logs.setdefault(name, Log(os.path.join(self.folder, str(number))))
        log.spans.append((attempt, base))


def _append(path: str, data: bytes, *, undo: bool = False) -> None:
    """All of `data`, or DiskFull with a part of it written (with `undo`, nothing)."""
    with _disk_full_means(path):
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        before = os.fstat(fd).st_size
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError:
            if undo:
                os.ftruncate(fd, before)
            raise
        finally:
            os.close(fd)


@contextlib.contextmanager
def _disk_full_means(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(path) from error
        raise
