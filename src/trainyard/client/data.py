"""Datastores with their files, datasets, and lineage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from trainyard.client.http import Http, quoted
from trainyard.contract.codec import from_json
from trainyard.contract.data import (
    DataFile,
    DatasetChange,
    DatasetRecord,
    DatastoreRecord,
    DataUse,
    NewDataset,
    NewDatastore,
    QueryAnswer,
)

_PAGE = 10_000


class Data:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}"

    # Datastores

    def register_datastore(self, new: NewDatastore) -> DatastoreRecord:
        return self._http.post(DatastoreRecord, f"{self._path}/datastores", new)

    def datastore(self, name: str) -> DatastoreRecord:
        return self._http.get(DatastoreRecord, self._store(name))

    def datastores(self) -> list[DatastoreRecord]:
        return self._http.get(list[DatastoreRecord], f"{self._path}/datastores")

    def set_default_datastore(self, name: str) -> DatastoreRecord:
        return self._http.post(DatastoreRecord, f"{self._store(name)}/default")

    def unregister_datastore(self, name: str) -> None:
        """Its files stay."""
        self._http.json("DELETE", self._store(name))

    def query(self, datastore: str, query: str, limit: int | None = None) -> QueryAnswer:
        return self._http.post(QueryAnswer, f"{self._store(datastore)}/query", {"query": query, "limit": limit})

    # Their files, through the service

    def files(self, datastore: str, folder: str) -> Iterator[DataFile]:
        after: str | None = None
        while True:
            query = {"folder": folder, "after": after}
            page = self._http.get(list[DataFile], f"{self._store(datastore)}/files", query)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].path

    def file(self, datastore: str, path: str) -> DataFile | None:
        found = self._http.json("GET", f"{self._store(datastore)}/file", query={"path": path})
        return from_json(DataFile, found) if found is not None else None

    def read_file(self, datastore: str, path: str, offset: int, version: str) -> Iterator[bytes]:
        query = {"path": path, "offset": offset or None, "version": version or None}
        return self._http.stream(f"{self._store(datastore)}/content", query, size=1 << 20)

    def put_file(self, datastore: str, path: str, content: IO[bytes]) -> None:
        self._http.send("PUT", f"{self._store(datastore)}/content", content, {"path": path})

    def delete_file(self, datastore: str, path: str) -> None:
        self._http.send("DELETE", f"{self._store(datastore)}/content", query={"path": path})

    # Datasets

    def save(self, new: NewDataset) -> DatasetRecord:
        """Register a version of `new.name`; without a name, keep the definition under an id."""
        return self._http.post(DatasetRecord, f"{self._path}/datasets", new)

    def by_name(self, name: str, version: int | None = None) -> DatasetRecord:
        """That version, else the latest; UnknownDataset if there is none."""
        return self._http.get(DatasetRecord, f"{self._path}/datasets/by-name", {"name": name, "version": version})

    def by_id(self, dataset_id: str) -> DatasetRecord:
        return self._http.get(DatasetRecord, f"{self._path}/datasets/{quoted(dataset_id)}")

    def datasets(self) -> list[DatasetRecord]:
        """The latest version of each."""
        return self._http.get(list[DatasetRecord], f"{self._path}/datasets")

    def versions(self, name: str) -> list[DatasetRecord]:
        """All versions, the latest first."""
        return self._http.get(list[DatasetRecord], f"{self._path}/datasets/versions", {"name": name})

    def change(self, dataset_id: str, change: DatasetChange) -> DatasetRecord:
        return from_json(DatasetRecord, self._http.json("PATCH", f"{self._path}/datasets/{quoted(dataset_id)}", change))

    def unregister(self, name: str) -> None:
        """All versions."""
        self._http.json("DELETE", f"{self._path}/datasets/by-name", query={"name": name})

    # Lineage

    def uses_of_run(self, run_id: str) -> list[DataUse]:
        return self._http.get(list[DataUse], f"{self._path}/data-uses", {"run_id": run_id})

    def uses_of_dataset(self, name: str, version: int | None = None) -> list[DataUse]:
        return self._http.get(list[DataUse], f"{self._path}/data-uses", {"dataset": name, "version": version})

    def _store(self, name: str) -> str:
        return f"{self._path}/datastores/{quoted(name)}"
