"""Datastores as a user holds them: where the workspace's data is, by a name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import DatastoreKind, DatastoreRecord
from trainyard.sdk.data.data_reference import DataReference
from trainyard.sdk.errors import UserErrorException, sdk_errors
from trainyard.sdk.runs.run_files import files_below

if TYPE_CHECKING:
    from trainyard.blobs.depots.base import Depot
    from trainyard.sdk.workspace import Workspace


class AbstractDatastore:
    def __init__(self, workspace: Workspace, record: DatastoreRecord) -> None:
        self._workspace = workspace
        self._record = record

    @property
    def workspace(self) -> Workspace:
        return self._workspace

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def datastore_type(self) -> str:
        return self._record.kind.value

    def set_as_default(self) -> None:
        self._record = self._workspace._clients.data.set_default_datastore(self.name)

    def unregister(self) -> None:
        """The datastore is no longer known by its name. Its files stay where they are."""
        self._workspace._clients.data.unregister_datastore(self.name)

    def _about(self) -> dict[str, Any]:
        where = {"path": self._record.path} if self._record.path else dict(self._record.location)
        return {"name": self.name, "datastore_type": self.datastore_type, **where}

    def __repr__(self) -> str:
        import json

        return json.dumps(self._about(), indent=2)


class FileStorage(AbstractDatastore):
    """A datastore that has files."""

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> DataReference:
        return DataReference(self, data_reference_name, path)

    def as_mount(self) -> DataReference:
        """All of it, as a path on the node."""
        return DataReference(self)

    def as_download(self, path_on_compute: str | None = None) -> DataReference:
        return DataReference(self).as_download(path_on_compute)

    def as_upload(self, path_on_compute: str | None = None) -> DataReference:
        return DataReference(self).as_upload(path_on_compute)

    def upload(
        self, src_dir: str, target_path: str | None = None, overwrite: bool = False, show_progress: bool = True
    ) -> DataReference:
        """Stores what is in a folder, below `target_path`. Files that are there already are left as they are unless
        `overwrite`."""
        source = os.path.abspath(os.path.expanduser(os.fspath(src_dir)))
        if not os.path.isdir(source):
            what = "is a file; upload_files([...]) takes those" if os.path.exists(source) else "is not there"
            raise UserErrorException(f"The folder {source} to upload {what}. Give src_dir a folder.")
        files = [(os.path.join(source, below), below) for below in files_below(source)]
        return self._upload(files, target_path, overwrite=overwrite, show=show_progress)

    def upload_files(
        self,
        files: Sequence[str],
        relative_root: str | None = None,
        target_path: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> DataReference:
        """Stores single files, by their paths from `relative_root` (the folder that all of them share without it)."""
        if isinstance(files, str) or not files:
            raise UserErrorException("upload_files takes a list of files, such as ['./data/train.csv'].")
        paths = [os.path.abspath(os.path.expanduser(os.fspath(file))) for file in files]
        if missing := [path for path in paths if not os.path.isfile(path)]:
            raise UserErrorException(f"There is no file {missing[0]} to upload. Check the path.")
        root = os.path.abspath(relative_root) if relative_root else os.path.commonpath(map(os.path.dirname, paths))
        if outside := [path for path in paths if os.path.relpath(path, root).startswith(os.pardir)]:
            raise UserErrorException(f"{outside[0]} is not below relative_root {root}. Give a folder above all files.")
        pairs = [(path, os.path.relpath(path, root)) for path in paths]
        return self._upload(pairs, target_path, overwrite=overwrite, show=show_progress)

    def download(
        self, target_path: str, prefix: str | None = None, overwrite: bool = False, show_progress: bool = True
    ) -> int:
        """Writes every file whose path begins with the folder or file `prefix` below `target_path`, under its path in
        the datastore; answers how many. Files that are there already are left as they are unless `overwrite`."""
        from trainyard.blobs.depots.base import checked_path
        from trainyard.blobs.depots.resolve import Entry
        from trainyard.sdk.data.transfers import download

        with sdk_errors():
            depot, path = self._depot(), checked_path(prefix or "")
            alone = depot.look(path) if path else None
            found = [alone] if alone is not None else list(depot.list(path))
        folder = os.path.abspath(os.path.expanduser(os.fspath(target_path)))
        entries = [Entry(file.path, depot, file) for file in found]
        if not overwrite:
            entries = [entry for entry in entries if not os.path.lexists(os.path.join(folder, entry.path))]
        return len(download(entries, folder, overwrite=overwrite, show=show_progress))

    def _upload(
        self, files: list[tuple[str, str]], target_path: str | None, *, overwrite: bool, show: bool
    ) -> DataReference:
        from trainyard.sdk.data.transfers import upload

        upload(self._depot(), files, target_path or "", overwrite=overwrite, show=show)
        return DataReference(self, path_on_datastore=target_path)

    def _depot(self) -> Depot:
        from trainyard.sdk.data.data_here import locator

        return locator(self._workspace).of_record(self._record)


class AzureBlobDatastore(FileStorage):
    @property
    def account_name(self) -> str:
        return str(self._record.location.get("account_name", ""))

    @property
    def container_name(self) -> str:
        return str(self._record.location.get("container_name", ""))

    @property
    def protocol(self) -> str:
        return str(self._record.location.get("protocol") or "https")

    @property
    def endpoint(self) -> str:
        return str(self._record.location.get("endpoint") or "core.windows.net")

    @property
    def is_sas(self) -> bool:
        return self._record.location.get("credential") == "sas"

    # nobody gets a credential back from the service
    account_key = sas_token = None


class AzureFileDatastore(AzureBlobDatastore):
    pass


class AzureDataLakeGen2Datastore(AzureBlobDatastore):
    @property
    def tenant_id(self) -> str:
        return str(self._record.location.get("tenant_id", ""))

    @property
    def client_id(self) -> str:
        return str(self._record.location.get("client_id", ""))

    client_secret = None


class S3Datastore(FileStorage):
    @property
    def bucket(self) -> str:
        return str(self._record.location.get("bucket", ""))


class FolderDatastore(FileStorage):
    """A folder that every node sees: of this machine, or of a file system they all have mounted."""

    @property
    def folder(self) -> str:
        return str(self._record.path)


class SftpDatastore(FileStorage):
    """A folder on a machine that is reached by SFTP."""


class SqlDatastore(AbstractDatastore):
    """A database, for Dataset.Tabular.from_sql_query."""


_KINDS: dict[DatastoreKind, type[AbstractDatastore]] = {
    DatastoreKind.BLOB: AzureBlobDatastore,
    DatastoreKind.FILE_SHARE: AzureFileDatastore,
    DatastoreKind.DATA_LAKE: AzureDataLakeGen2Datastore,
    DatastoreKind.S3: S3Datastore,
    DatastoreKind.FOLDER: FolderDatastore,
    DatastoreKind.SFTP: SftpDatastore,
    DatastoreKind.SQL: SqlDatastore,
}


def datastore_of(workspace: Workspace, record: DatastoreRecord) -> AbstractDatastore:
    return _KINDS[record.kind](workspace, record)
