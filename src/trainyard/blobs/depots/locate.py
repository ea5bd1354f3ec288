"""Which depot a source of a dataset is in, as this process reaches it."""

from __future__ import annotations

import errno
from collections.abc import Callable

from trainyard.blobs.depots.base import Depot
from trainyard.blobs.depots.folder import FolderDepot
from trainyard.blobs.depots.remote import RemoteDepot, RemoteFiles
from trainyard.blobs.depots.web import WebDepot
from trainyard.contract.data import DataSource, DatastoreRecord
from trainyard.contract.errors import DataRefused


class Locator:
    """`sees_folder`: whether a datastore's folder is one of this machine. `local_files`: absolute paths in datasets
    mean this machine."""

    def __init__(
        self,
        record_of: Callable[[str], DatastoreRecord] | None,
        remote: RemoteFiles | None,
        web: WebDepot,
        *,
        sees_folder: Callable[[DatastoreRecord], bool],
        local_files: bool,
    ) -> None:
        self._record_of = record_of
        self._remote = remote
        self._web = web
        self._sees_folder = sees_folder
        self._local_files = local_files
        self._known: dict[str, Depot] = {}

    def __call__(self, source: DataSource) -> Depot:
        if source.is_web:
            return self._web
        if source.datastore is None:
            if not self._local_files:
                raise DataRefused(
                    f"{source.path} is a path of the machine the dataset was made on, which this one need not see. "
                    "Upload it with datastore.upload(...) or Dataset.File.upload_directory(...)."
                )
            return FolderDepot("/")
        return self.datastore(source.datastore)

    def datastore(self, name: str) -> Depot:
        if name not in self._known:
            if self._record_of is None:
                raise DataRefused(f"Datastore {name!r} is of no workspace here. Get the dataset from its workspace.")
            self._known[name] = self.of_record(self._record_of(name))
        return self._known[name]

    def of_record(self, record: DatastoreRecord) -> Depot:
        assert self._remote is not None, "a record comes from a service"
        remote = RemoteDepot(self._remote, record.workspace_id, record.name, record.created_ns)
        if record.path is not None and self._sees_folder(record):
            return _NearDepot(record.path, remote)
        return remote


class _NearDepot(FolderDepot):
    """A datastore's folder on this machine. A job that has some of it mounted reads there and writes through the
    service."""

    def __init__(self, root: str, service: Depot) -> None:
        super().__init__(root)
        self._service = service

    def put(self, path: str, file: str) -> None:
        try:
            super().put(path, file)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise
            self._service.put(path, file)

    def delete(self, path: str) -> None:
        try:
            super().delete(path)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise
            self._service.delete(path)
