"""A blob that comes in pieces, from a peer that says its digest first, or does not know it."""

from __future__ import annotations

import hashlib
import os
from types import TracebackType

from trainyard.blobs.base import Blob, check_digest, disk_errors
from trainyard.blobs.files import FileStore
from trainyard.contract.errors import DigestMismatch


class Incoming:
    """Pieces go to a file beside the blobs, which gets its name in `finish` if the digest is right (or none was said)
    and is gone otherwise: after an error, a wrong digest or a peer that went away. One thread at a time."""

    def __init__(self, store: FileStore, digest: str | None = None) -> None:
        self._store = store
        self._digest = check_digest(digest) if digest is not None else None
        self._seen = hashlib.sha256()
        self._size = 0
        self._named = False

    def __enter__(self) -> Incoming:
        with disk_errors(self._store.root):
            self._fd, self._path = self._store._new_file()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)
        if not self._named:
            os.unlink(self._path)

    def write(self, data: bytes) -> None:
        self._seen.update(data)
        self._size += len(data)
        with disk_errors(self._store.root):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]

    def finish(self) -> Blob:
        found = self._seen.hexdigest()
        if self._digest is not None and found != self._digest:
            raise DigestMismatch(self._digest, found)
        with disk_errors(self._store.root):
            self._store._name(self._path, found)
        self._named = True
        return Blob(found, self._size)
