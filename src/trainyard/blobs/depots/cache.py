"""What was fetched once on this machine, by content, shared by every run and every user of this home.

    files/      content by digest, readable only
    index/      (depot, path, version) → digest and size
    views/      folders of hard links to files/, laid out as a dataset is, with a lock beside each
    parts/      what is being fetched; a fetch that broke off goes on from there

A view's lock is held, shared, by whoever uses it. What nobody uses goes first when room is needed, the longest unused
first; a file that no view links to goes with it. `in_use` is held, shared, by whoever puts things here.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trainyard.blobs.base import FULL, Blob, result_of
from trainyard.blobs.depots.base import Depot
from trainyard.blobs.depots.resolve import Entry
from trainyard.blobs.files import FileStore
from trainyard.contract.data import DataFile
from trainyard.contract.errors import DataAway, DataChanged, DiskFull, TrainyardError

_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0)  # before each further try of a fetch that broke off
_THREADS = 8
_LOOK_EVERY_S = 0.02  # whether another has fetched what is waited for
_SPARE = 256 << 20  # bytes of the disk that are left to others

Progress = Callable[[int, int], None]  # files, bytes that have come since the last call


@dataclass
class View:
    """A folder that holds a dataset's files. It stays as long as this does."""

    path: str
    lock: int | None = None

    def close(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DataCache:
    def __init__(self, root: str, limit: int, pauses: Sequence[float] = _PAUSES_S) -> None:
        self.root = root
        self._limit = limit
        self._pauses = pauses
        self._store = FileStore(os.path.join(root, "files"))

    def view(self, entries: Sequence[Entry], progress: Progress | None = None) -> View:
        """The entries as a folder, each under its path; files of this machine are linked to where they are."""
        key = _key_of(entries)
        if key is not None and (found := self._open_view(key)) is not None:
            return found
        with self._putting(entries):
            digests = self.fetch(entries, progress)
            key = key or _key_of(entries, digests)
            assert key is not None, "content has a digest"
            return self._open_view(key) or self._lay_view(key, entries, digests)

    def copy(self, entries: Sequence[Entry], folder: str, progress: Progress | None = None) -> None:
        """The entries as files of the caller's own, below `folder`."""
        with self._putting(entries):
            digests = self.fetch(entries, progress)
            os.makedirs(folder, exist_ok=True)
            for entry, digest in zip(entries, digests, strict=True):
                target = os.path.join(folder, entry.path)
                if digest is not None:
                    self._store.write_to(digest, target)
                    continue
                copy_local(entry, target)

    def paths(self, entries: Sequence[Entry]) -> contextlib.AbstractContextManager[list[str]]:
        """Where each entry can be read on this machine, inside the block."""
        return self._paths(entries)

    def fetch(self, entries: Sequence[Entry], progress: Progress | None = None) -> list[str | None]:
        """See to it that every file is here; answers its digest, or None for those that lie on this machine anyway."""
        tell = progress or (lambda _files, _bytes: None)
        stop = threading.Event()  # whoever waits for the rest has been told to end: no thread is to keep it

        def one(entry: Entry) -> str | None:
            if entry.depot.local(entry.file.path) is not None:
                return None
            digest, came = self._ensure(entry.depot, entry.file, stop)
            tell(1, came)
            return digest

        remote = [entry for entry in entries if entry.depot.local(entry.file.path) is None]
        if len(remote) < 2:
            return [one(entry) for entry in entries]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_THREADS) as pool:
            try:  # around all of it: who is told to end may be told while the threads start
                pending = [pool.submit(one, entry) for entry in entries]
                return [result_of(future) for future in pending]
            except BaseException:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def make_room(self, needed: int) -> None:
        """Remove what was unused longest until `needed` more bytes fit. Does nothing while somebody is putting."""
        with self._locked("in_use", fcntl.LOCK_EX | fcntl.LOCK_NB) as held:
            if not held:
                return
            for view in [None, *self._views_by_use()]:
                if view is not None and not self._remove_view(view):
                    continue
                if self._sweep() + needed <= self._limit and self._free() >= needed + _SPARE:
                    return

    # One file

    def _ensure(self, depot: Depot, file: DataFile, stop: threading.Event) -> tuple[str, int]:
        """The digest of a file that is here now, and how many bytes had to come."""
        key = _digest(depot.key, file.path, file.version)
        index = os.path.join(self.root, "index", key[:2], key[2:])
        if file.version and (known := self._known(index)) is not None:
            return known, 0
        os.makedirs(os.path.dirname(index), mode=0o700, exist_ok=True)
        with self._waited_for(index + ".lock", stop):  # two runs that want it fetch it once
            if file.version and (known := self._known(index)) is not None:
                return known, 0
            part = os.path.join(self.root, "parts", key)
            os.makedirs(os.path.dirname(part), mode=0o700, exist_ok=True)
            blob = self._fetch(depot, file, part, stop)
            os.chmod(part, 0o444)
            self._store.adopt(part, blob.digest)
            _write(index, f"{blob.digest} {blob.size}")
            return blob.digest, blob.size

    def _known(self, index: str) -> str | None:
        try:
            with open(index, encoding="ascii") as file:
                digest, size = file.read().split()
            return digest if os.stat(self._store.path_of(digest)).st_size == int(size) else None
        except (OSError, ValueError):
            return None

    def _fetch(self, depot: Depot, file: DataFile, part: str, stop: threading.Event) -> Blob:
        """All of it into `part`, however often it breaks off on the way. `part` goes if it is of no use later."""
        failed: TrainyardError | None = None
        if not file.version:
            _unlink(part)  # nothing says that the rest would be of the same file
        for pause in (0.0, *self._pauses):
            stop.wait(pause)
            try:
                blob = _append(depot, file, part, stop)
                if file.size in (-1, blob.size):
                    return blob
                raise DataChanged(f"{file.path} has {blob.size:,} bytes instead of {file.size:,}. Try again.")
            except DataAway as error:
                failed = error
                if not file.version:
                    _unlink(part)
                if stop.is_set():
                    break
            except DataChanged:
                _unlink(part)
                raise
            except OSError as error:
                _unlink(part)
                if error.errno in FULL:
                    raise DiskFull(self.root) from error
                raise
        assert failed is not None
        raise failed

    # Views

    def _open_view(self, key: str) -> View | None:
        path = os.path.join(self.root, "views", key)
        try:
            lock = os.open(path + ".lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not os.path.isdir(path):  # it went while we waited
            os.close(lock)
            return None
        now = time.time_ns()  # the kernel's own stamps may be the same for some milliseconds
        os.utime(path + ".lock", ns=(now, now))
        return View(path, lock)

    def _lay_view(self, key: str, entries: Sequence[Entry], digests: Sequence[str | None]) -> View:
        path = os.path.join(self.root, "views", key)
        aside = f"{path}.{os.getpid()}-{time.monotonic_ns()}"
        os.makedirs(aside, mode=0o700)
        made = {aside}
        try:
            for entry, digest in zip(entries, digests, strict=True):
                target = os.path.join(aside, entry.path)
                if (folder := os.path.dirname(target)) not in made:
                    os.makedirs(folder, exist_ok=True)
                    made.add(folder)
                if digest is not None:
                    os.link(self._store.path_of(digest), target)
                else:
                    os.symlink(str(entry.depot.local(entry.file.path)), target)
            os.close(os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            os.rename(aside, path)
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # else another run was quicker
                if error.errno in FULL:
                    raise DiskFull(self.root) from error
                raise
        found = self._open_view(key)
        assert found is not None, "a view is not removed while somebody is putting"
        return found

    def _views_by_use(self) -> list[str]:
        folder = os.path.join(self.root, "views")
        names = [name for name in _names(folder) if name.endswith(".lock")]
        names.sort(key=lambda name: os.stat(os.path.join(folder, name)).st_mtime_ns)
        return [os.path.join(folder, name.removesuffix(".lock")) for name in names]

    def _remove_view(self, path: str) -> bool:
        with self._locked(path + ".lock", fcntl.LOCK_EX | fcntl.LOCK_NB) as held:
            if held:
                shutil.rmtree(path, ignore_errors=True)
                _unlink(path + ".lock")
        return held

    def _sweep(self) -> int:
        """Remove files that no view links to; answers the bytes of those that stay."""
        kept = 0
        for at, _, names in os.walk(os.path.join(self.root, "files")):
            for name in names:
                path = os.path.join(at, name)
                with contextlib.suppress(FileNotFoundError):
                    about = os.stat(path)
                    if about.st_nlink == 1:
                        os.unlink(path)
                    else:
                        kept += about.st_size
        return kept

    def _free(self) -> int:
        about = os.statvfs(self.root)
        return about.f_bavail * about.f_frsize

    # Small things

    @contextlib.contextmanager
    def _putting(self, entries: Sequence[Entry]) -> Iterator[None]:
        """Room is made first; then nothing is removed until the block ends."""
        needed = sum(max(0, entry.file.size) for entry in entries if entry.depot.local(entry.file.path) is None)
        os.makedirs(os.path.join(self.root, "views"), mode=0o700, exist_ok=True)
        if needed and (self._size() + needed > self._limit or self._free() < needed + _SPARE):
            self.make_room(needed)
        with self._locked("in_use", fcntl.LOCK_SH):
            yield

    def _size(self) -> int:
        total = 0
        for at, _, names in os.walk(os.path.join(self.root, "files")):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    total += os.stat(os.path.join(at, name)).st_size
        return total

    @contextlib.contextmanager
    def _paths(self, entries: Sequence[Entry]) -> Iterator[list[str]]:
        with self._putting(entries):
            digests = self.fetch(entries)
            yield [
                self._store.path_of(digest) if digest is not None else str(entry.depot.local(entry.file.path))
                for entry, digest in zip(entries, digests, strict=True)
            ]

    @contextlib.contextmanager
    def _waited_for(self, path: str, stop: threading.Event) -> Iterator[None]:
        """The lock, for oneself. Waiting for it ends when `stop` is set."""
        while True:
            with self._locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB) as held:
                if held:
                    yield
                    return
            if stop.wait(_LOOK_EVERY_S):
                raise DataAway("Another run fetches the same file, and this one was told to end.")

    @contextlib.contextmanager
    def _locked(self, name: str, how: int) -> Iterator[bool]:
        path = os.path.join(self.root, name)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, how)
            held = True
        except BlockingIOError:
            held = False
        try:
            yield held
        finally:
            os.close(fd)


def copy_local(entry: Entry, target: str) -> None:
    """A file of this machine, whole: one that is written to meanwhile is noticed."""
    from trainyard.blobs.depots.folder import FolderDepot

    source = entry.depot.local(entry.file.path)
    assert source is not None
    depot = FolderDepot(os.path.dirname(source))
    FolderDepot(os.path.dirname(target)).put(os.path.basename(target), source)
    after = depot.look(os.path.basename(source))
    if after is None or after.version != entry.file.version:
        _unlink(target)
        raise DataChanged(f"{source} changed while it was copied. Try again when it is written.")


def digest_of_entries(entries: Sequence[Entry]) -> str:
    """What a run read, in one word: names, sizes and versions of all files."""
    seen = hashlib.sha256()
    for entry in entries:
        seen.update(f"{entry.path}\0{entry.file.size}\0{entry.file.version}\n".encode("utf-8", "surrogateescape"))
    return seen.hexdigest()


def _key_of(entries: Sequence[Entry], digests: Sequence[str | None] | None = None) -> str | None:
    """What a view of these files is called; None while a file's version is not known and neither is its content."""
    seen = hashlib.sha256()
    for at, entry in enumerate(entries):
        version = entry.file.version or (digests[at] if digests is not None else None)
        if not version:
            return None
        line = f"{entry.path}\0{entry.depot.key}\0{entry.file.path}\0{version}\n"
        seen.update(line.encode("utf-8", "surrogateescape"))
    return seen.hexdigest()[:40]


def _append(depot: Depot, file: DataFile, part: str, stop: threading.Event) -> Blob:
    """Go on from what `part` has. The digest is of what it holds in the end."""
    seen, size = hashlib.sha256(), 0
    with open(part, "ab+") as written:
        written.seek(0)
        while data := written.read(1 << 20):
            seen.update(data)
            size += len(data)
        if size and size == file.size:
            return Blob(seen.hexdigest(), size)
        for data in depot.read(file.path, size, file.version):
            if stop.is_set():
                raise DataAway(f"Fetching {file.path} was ended.")
            written.write(data)
            seen.update(data)
            size += len(data)
    return Blob(seen.hexdigest(), size)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _write(path: str, text: str) -> None:
    with open(f"{path}.{os.getpid()}", "w", encoding="ascii") as file:
        file.write(text)
    os.replace(file.name, path)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
