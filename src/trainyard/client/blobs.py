"""Bytes by content. Between processes of one machine they do not pass through here (see trainyard.blobs)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import IO

from trainyard.client.http import Http
from trainyard.contract.errors import DigestMismatch


class Blobs:
    def __init__(self, http: Http) -> None:
        self._http = http

    def missing(self, digests: Iterable[str]) -> list[str]:
        """Those of `digests` the service does not have."""
        return self._http.post(list[str], "/blobs/missing", list(digests))

    def put(self, digest: str, data: bytes | IO[bytes]) -> None:
        self._http.send("PUT", f"/blobs/{digest}", data)

    def read(self, digest: str) -> bytes:
        data = self._http.send("GET", f"/blobs/{digest}")
        if (found := hashlib.sha256(data).hexdigest()) != digest:
            raise DigestMismatch(digest, found)
        return data

    def fetch(self, digest: str, into: IO[bytes]) -> None:
        """Write the content to `into`, checked as it comes."""
        seen = hashlib.sha256()
        for data in self._http.stream(f"/blobs/{digest}", size=1 << 20):
            seen.update(data)
            into.write(data)
        if seen.hexdigest() != digest:
            raise DigestMismatch(digest, seen.hexdigest())
