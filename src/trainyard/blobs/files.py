"""Blobs as files of one folder: `ab/cdef…` below it, readable by its owner only.

Nothing is synced to the disk. What we accepted must outlive us, killed at any moment, and it does: the kernel has it
once `write` returns, and a blob gets its name by one rename after its last byte. A machine that loses power may lose
the last seconds; a blob that came back shorter than it was is stored again when it is offered again. So is one that a
read found damaged: that read marks its file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, cast

from trainyard.blobs.base import (
    BLOCK,
    FULL,
    Blob,
    BlobStore,
    check_digest,
    disk_errors,
    in_threads,
    new_file,
    replacing,
)
from trainyard.contract.errors import DigestMismatch, DiskFull, UnknownBlob

_SMALL = 1 << 20  # up to here a file passes through memory: hashed first, written only if it is new
_DAMAGED = stat.S_ISVTX  # the mark: it means nothing on a file, and whoever looks whether a file is there sees it too
_FICLONE = 0x40049409  # Linux: share the blocks of another file of the same file system


class Stored(NamedTuple):
    digest: str
    size: int
    since: float  # seconds since 1970


class FileStore(BlobStore):
    def __init__(self, root: str) -> None:
        self.root: str = os.path.abspath(root)
        self._temporary = os.path.join(self.root, "tmp")
        self._aside = os.path.join(self.root, "aside")
        self._can_clone = True  # until this file system says no

    def put_file(self, path: str) -> Blob:
        try:
            # O_NONBLOCK: a pipe that took the file's place must not hold us up
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                about = os.fstat(fd)
                if not stat.S_ISREG(about.st_mode):
                    raise OSError(errno.EINVAL, "Not a regular file", path)
                return self._put_small(fd) if about.st_size <= _SMALL else self._put_large(fd)
            finally:
                os.close(fd)
        except OSError as error:
            error.filename = error.filename or path
            raise

    def put_bytes(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        if not self._has(digest, len(data)):
            fd, temporary = self._new_file()
            try:
                _write_all(fd, data)
                self._name(temporary, digest)
            except OSError as error:
                os.unlink(temporary)
                raise self._told(error) from error
            finally:
                os.close(fd)
        return digest

    def missing(self, digests: Iterable[str]) -> set[str]:
        return {digest for digest in digests if self._whole(digest) is None}

    def read(self, digest: str) -> bytes:
        with self._opened(digest) as file:
            data = file.read()
            _check(file.fileno(), digest, hashlib.sha256(data).hexdigest())
        return data

    def open(self, digest: str) -> IO[bytes]:
        return cast("IO[bytes]", _Checked(self._opened(digest), digest))

    def peek(self, digest: str) -> io.FileIO:
        """The content's file, to look at a part of it: one that can seek, and that nobody checks."""
        return self._opened(digest)

    def write_to(self, digest: str, path: str, mode: int = 0o644) -> None:
        with self._opened(digest) as source, replacing(path) as fd:
            _check(source.fileno(), digest, self._copy(source.fileno(), fd).digest)
            os.fchmod(fd, mode)

    def lay_out(self, files: Sequence[tuple[str, str, int]]) -> None:
        with disk_errors(files[0][1] if files else self.root):
            in_threads(lambda file: self._lay_out(*file), files)

    def adopt(self, path: str, digest: str) -> None:
        """Take over a whole file of this file system, whose digest the caller has seen."""
        if self._has(check_digest(digest), os.stat(path).st_size):
            os.unlink(path)  # others may have links to the one that is here
        else:
            self._name(path, digest)

    def path_of(self, digest: str) -> str:
        """Where its file is, for those who may link to it and never write to it."""
        path = self._path(digest)
        if not os.path.exists(path):
            self._took_back(digest)
        return path

    def size(self, digest: str) -> int:
        with self._opened(digest) as file:
            return os.fstat(file.fileno()).st_size

    def listing(self) -> Iterator[Stored]:
        """Every blob there is."""
        with contextlib.suppress(FileNotFoundError):
            for folder in sorted(name for name in os.listdir(self.root) if len(name) == 2):
                with os.scandir(os.path.join(self.root, folder)) as entries:
                    for entry in entries:
                        about = entry.stat(follow_symlinks=False)
                        yield Stored(folder + entry.name, about.st_size, about.st_mtime)

    def put_aside(self, digest: str) -> None:
        """Out of the way, but not gone: whoever asks for it has it back, as if it had never been away."""
        os.makedirs(self._aside, mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(self._path(digest), os.path.join(self._aside, digest))

    def listing_aside(self) -> list[Stored]:
        """What was put aside, with when that was."""
        found = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self._aside) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                found.append(Stored(entry.name, about.st_size, about.st_ctime))
        return found

    def drop_aside(self, digest: str) -> None:
        """Gone for good."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._aside, check_digest(digest)))

    def sweep(self, older_than_s: float = 86_400.0) -> int:
        """Remove what killed writers left behind; answers how many files."""
        removed = 0
        with contextlib.suppress(FileNotFoundError), os.scandir(self._temporary) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - entry.stat().st_mtime > older_than_s:
                        os.unlink(entry.path)
                        removed += 1
        return removed

    def _lay_out(self, digest: str, path: str, mode: int) -> None:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            return self.write_to(digest, path, mode)
        try:
            with self._opened(digest) as source:
                _check(source.fileno(), digest, self._copy(source.fileno(), fd).digest)
        finally:
            os.close(fd)
        return None

    def _put_small(self, fd: int) -> Blob:
        parts = []
        while data := os.read(fd, BLOCK):
            parts.append(data)
        data = b"".join(parts)
        return Blob(self.put_bytes(data), len(data))

    def _put_large(self, source: int) -> Blob:
        fd, temporary = self._new_file()
        try:
            blob = self._copy(source, fd)
            if not self._has(blob.digest, blob.size):
                self._name(temporary, blob.digest)
                temporary = ""
            return blob
        except OSError as error:
            raise self._told(error) from error
        finally:
            os.close(fd)
            if temporary:
                os.unlink(temporary)

    def _copy(self, source: int, target: int) -> Blob:
        """The digest is of the bytes that are in `target` now, whatever happened to `source` meanwhile."""
        if self._can_clone and os.fstat(source).st_size > _SMALL:
            try:
                fcntl.ioctl(target, _FICLONE, source)
                return _hash(target)
            except OSError as error:
                if error.errno in FULL:
                    raise
                # another file system (EXDEV) may be one case of many; one without clones never learns them
                self._can_clone = error.errno == errno.EXDEV
        seen, size = hashlib.sha256(), 0
        while data := os.read(source, BLOCK):
            seen.update(data)
            _write_all(target, data)
            size += len(data)
        return Blob(seen.hexdigest(), size)

    def _has(self, digest: str, size: int) -> bool:
        there = self._whole(digest)
        return there is not None and there.st_size == size

    def _whole(self, digest: str) -> os.stat_result | None:
        """None: it is not stored, or known to be damaged and wanted again."""
        try:
            there = os.stat(self._path(digest))
        except FileNotFoundError:
            if not self._took_back(digest):
                return None
            there = os.stat(self._path(digest))
        return None if there.st_mode & _DAMAGED else there

    def _new_file(self) -> tuple[int, str]:
        try:
            return new_file(self._temporary)
        except FileNotFoundError:
            os.makedirs(self.root, mode=0o700, exist_ok=True)
            os.makedirs(self._temporary, mode=0o700, exist_ok=True)
            return new_file(self._temporary)
        except OSError as error:
            raise self._told(error) from error

    def _told(self, error: OSError) -> Exception:
        return DiskFull(self.root) if error.errno in FULL else error

    def _name(self, temporary: str, digest: str) -> None:
        path = self._path(digest)
        try:
            os.rename(temporary, path)  # onto an equal file, if another writer was quicker
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.rename(temporary, path)

    def _opened(self, digest: str) -> io.FileIO:
        try:
            return io.FileIO(self._path(digest))
        except FileNotFoundError as error:
            if self._took_back(digest):
                return io.FileIO(self._path(digest))
            raise UnknownBlob(digest) from error

    def _took_back(self, digest: str) -> bool:
        """Whether it had been put aside, and is here again now that somebody asks for it."""
        try:
            os.rename(os.path.join(self._aside, check_digest(digest)), self._path(digest))
        except FileNotFoundError:
            return False
        return True

    def _path(self, digest: str) -> str:
        check_digest(digest)
        return f"{self.root}/{digest[:2]}/{digest[2:]}"


class _Checked(io.RawIOBase):
    def __init__(self, file: io.FileIO, digest: str) -> None:
        super().__init__()
        self._file = file
        self._digest = digest
        self._seen = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        count = self._file.readinto(view) or 0
        self._seen.update(view[:count])
        if count == 0 and len(view):
            _check(self._file.fileno(), self._digest, self._seen.hexdigest())
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _check(fd: int, digest: str, found: str) -> None:
    """What was read of the blob that is open as `fd`. A damaged one is marked: this very file, not one that has taken
    its place since."""
    if found != digest:
        with contextlib.suppress(OSError):  # another user's, or a disk that became read-only
            os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) | _DAMAGED)
        raise DigestMismatch(digest, found)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _hash(fd: int) -> Blob:
    seen, size = hashlib.sha256(), 0
    os.lseek(fd, 0, os.SEEK_SET)
    while data := os.read(fd, BLOCK):
        seen.update(data)
        size += len(data)
    return Blob(seen.hexdigest(), size)
