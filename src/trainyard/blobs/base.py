"""The blob port: bytes named by their SHA-256.

1. A blob is stored once, whole or not at all, and never changes. Storing what is there already is cheap and no error.
2. Every read is checked: bytes that are not what their name says raise DigestMismatch, unknown ones UnknownBlob. What
   a read found damaged is missing from then on, and stored again when it is offered again.
3. A name that is not a digest is refused; it never becomes a path.
4. What a manifest names is stored before the manifest. So a store that has a manifest has everything below it; whoever
   deletes blobs deletes manifests first.

All methods may be called from any thread and any number of processes at once.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, TypeVar

from trainyard.contract.errors import DiskFull, InvalidRequest

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")

BLOCK = 1 << 20
_STEP_S = 0.1
_FEW = 32  # below this many items, starting threads costs more than it saves
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, a limit on files
_OURS = os.urandom(8).hex()  # other machines may write to the same folder
_counter = itertools.count()
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Blob:
    digest: str
    size: int


class BlobStore(ABC):
    root: str | None = None  # the folder all of it is in, where that is on this machine

    @abstractmethod
    def put_file(self, path: str) -> Blob:
        """Store a file's content as it is now. The caller sees to it that nobody writes to it meanwhile."""

    @abstractmethod
    def put_bytes(self, data: bytes) -> str: ...

    @abstractmethod
    def missing(self, digests: Iterable[str]) -> set[str]:
        """Those of `digests` that are not stored."""

    @abstractmethod
    def read(self, digest: str) -> bytes: ...

    @abstractmethod
    def open(self, digest: str) -> IO[bytes]:
        """A stream of the content, checked when its end is reached. It cannot seek."""

    @abstractmethod
    def write_to(self, digest: str, path: str, mode: int = 0o644) -> None:
        """Make the file `path` (and the folders above it) with this content, at once or not at all."""

    def lay_out(self, files: Sequence[tuple[str, str, int]]) -> None:
        """Many at once, as (digest, path, mode), into folders that are there and that nobody looks into yet: each file
        is whole when this returns, and an error may leave a part of them."""
        in_threads(lambda file: self.write_to(*file), files)

    def put_files(self, paths: Sequence[str]) -> list[Blob]:
        """Store many files; the answers come in the order of `paths`."""
        return in_threads(self.put_file, paths)

    def put_all(self, items: Sequence[bytes]) -> None:
        """Store many, one after the other: a later one may name an earlier one."""
        for data in items:
            self.put_bytes(data)


def check_digest(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise InvalidRequest(f"{digest[:80]!r} is not a SHA-256 in 64 hexadecimal digits. Name content by its digest.")
    return digest


def digest_of(path: str) -> Blob:
    """What a file's content would be called."""
    with open(path, "rb", buffering=0) as file:
        seen = hashlib.file_digest(file, "sha256")
        return Blob(seen.hexdigest(), file.tell())


@contextlib.contextmanager
def replacing(path: str) -> Iterator[int]:
    """A new file beside `path` that takes its place at the end, or is gone if that end is an error."""
    folder = os.path.dirname(path) or "."
    with disk_errors(path):
        try:
            fd, temporary = new_file(folder)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            fd, temporary = new_file(folder)
        try:
            try:
                yield fd
            finally:
                os.close(fd)
            os.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def new_file(folder: str) -> tuple[int, str]:
    """An open file of a name nobody else has."""
    path = f"{folder}/.{_OURS}-{os.getpid()}-{next(_counter)}.new"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path


@contextlib.contextmanager
def disk_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull(path) from error
        raise


def in_threads(function: Callable[[T], R], items: Sequence[T], threads: int = 0, few: int = _FEW) -> list[R]:
    """`function` of every item, in order; the first failure ends it. The work is reading, hashing, writing and waiting
    for others, which leave the interpreter. Fewer than `few` items are done here, one by one."""
    if len(items) < few or threads == 1:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # here: it takes longer to import than most calls need

    threads = threads or max(2, min(8, os.cpu_count() or 1))
    size = max(1, min(256, len(items) // (4 * threads)))
    parts = [items[at : at + size] for at in range(0, len(items), size)]

    def work(part: Sequence[T]) -> list[R]:
        return [function(item) for item in part]

    with ThreadPoolExecutor(threads) as pool:
        try:  # around all of it: who is told to end may be told while the threads start
            pending = [pool.submit(work, part) for part in parts]
            return [result for future in pending for result in result_of(future)]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def result_of(future: Future[T]) -> T:
    """What it answers. Waiting is done in steps: a signal that came just before a wait for a lock does not end that."""
    from concurrent.futures import wait

    while not future.done():
        wait([future], timeout=_STEP_S)
    return future.result()
