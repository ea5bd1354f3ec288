"""Blobs of a service that shares no folder with us. Only what it does not have travels."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import IO, Protocol

from trainyard.blobs.base import Blob, BlobStore, check_digest, digest_of, in_threads, replacing

_ASK = 20_000  # digests in one question


class Remote(Protocol):
    """What the service's client offers (trainyard.client.blobs.Blobs)."""

    def missing(self, digests: Iterable[str]) -> list[str]: ...

    def put(self, digest: str, data: bytes | IO[bytes]) -> None: ...

    def read(self, digest: str) -> bytes: ...

    def fetch(self, digest: str, into: IO[bytes]) -> None: ...


class RemoteStore(BlobStore):
    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def put_file(self, path: str) -> Blob:
        return self.put_files([path])[0]

    def put_bytes(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        if self.missing([digest]):
            self._remote.put(digest, data)
        return digest

    def put_files(self, paths: Sequence[str]) -> list[Blob]:
        blobs = in_threads(_named_digest, paths)
        where = {blob.digest: path for blob, path in zip(blobs, paths, strict=True)}
        new = self.missing(where)
        # a file that changed since is refused by the service: its bytes are not what we named them
        in_threads(lambda digest: self._send(digest, where[digest]), sorted(new))
        return blobs

    def put_all(self, items: Sequence[bytes]) -> None:
        named = {hashlib.sha256(data).hexdigest(): data for data in items}
        new = self.missing(named)
        for digest, data in named.items():
            if digest in new:
                self._remote.put(digest, data)

    def missing(self, digests: Iterable[str]) -> set[str]:
        asked = list(dict.fromkeys(check_digest(digest) for digest in digests))
        parts = [asked[at : at + _ASK] for at in range(0, len(asked), _ASK)]
        return {digest for part in parts for digest in self._remote.missing(part)}

    def read(self, digest: str) -> bytes:
        return self._remote.read(check_digest(digest))

    def open(self, digest: str) -> IO[bytes]:
        """Fetched and checked whole before the first byte is given out."""
        import tempfile

        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        try:
            self._remote.fetch(check_digest(digest), file)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    def write_to(self, digest: str, path: str, mode: int = 0o644) -> None:
        check_digest(digest)
        with replacing(path) as fd, os.fdopen(os.dup(fd), "wb") as file:
            self._remote.fetch(digest, file)
            os.fchmod(fd, mode)

    def _send(self, digest: str, path: str) -> None:
        with open(path, "rb") as file:
            self._remote.put(digest, file)


def _named_digest(path: str) -> Blob:
    try:
        return digest_of(path)
    except OSError as error:
        error.filename = error.filename or path
        raise
