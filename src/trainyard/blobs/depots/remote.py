"""A datastore that only the service reaches, or whose credentials only it has: every byte goes through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Protocol

from trainyard.blobs.depots.base import Depot, checked_path
from trainyard.contract.data import DataFile
from trainyard.contract.errors import DataAway, ServiceUnavailable


class RemoteFiles(Protocol):
    """What the service's client offers (trainyard.client.data.Data)."""

    def files(self, datastore: str, folder: str) -> Iterator[DataFile]: ...

    def file(self, datastore: str, path: str) -> DataFile | None: ...

    def read_file(self, datastore: str, path: str, offset: int, version: str) -> Iterator[bytes]: ...

    def put_file(self, datastore: str, path: str, content: IO[bytes]) -> None: ...

    def delete_file(self, datastore: str, path: str) -> None: ...


class RemoteDepot(Depot):
    def __init__(self, remote: RemoteFiles, workspace_id: str, datastore: str, born_ns: int) -> None:
        # born_ns: a datastore that was registered anew under its name may be another place
        self.key = f"datastore:{workspace_id}:{datastore}:{born_ns}"
        self._remote = remote
        self._datastore = datastore

    def list(self, folder: str) -> Iterator[DataFile]:
        return self._remote.files(self._datastore, checked_path(folder))

    def look(self, path: str) -> DataFile | None:
        return self._remote.file(self._datastore, checked_path(path))

    def read(self, path: str, offset: int = 0, version: str = "") -> Iterator[bytes]:
        try:
            yield from self._remote.read_file(self._datastore, checked_path(path), offset, version)
        except ServiceUnavailable as error:
            raise DataAway(error.message) from error

    def put(self, path: str, file: str) -> None:
        with open(file, "rb") as content:
            self._remote.put_file(self._datastore, checked_path(path), content)

    def delete(self, path: str) -> None:
        self._remote.delete_file(self._datastore, checked_path(path))

    def check(self, *, create: bool = False) -> None:
        """The service has checked it."""
