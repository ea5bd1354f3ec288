"""A workspace's datastores and datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from trainyard.sdk.connection import WorkspaceClients
    from trainyard.sdk.workspace import Workspace


class WorkspaceData:
    _clients: WorkspaceClients

    @property
    def datastores(self) -> dict[str, Any]:
        from trainyard.sdk.data.datastore_kinds import datastore_of

        return {record.name: datastore_of(self._whole(), record) for record in self._clients.data.datastores()}

    @property
    def datasets(self) -> dict[str, Any]:
        """The latest version of each."""
        from trainyard.sdk.data.dataset_base import AbstractDataset

        return AbstractDataset.get_all(self._whole())

    def get_default_datastore(self) -> Any:
        from trainyard.sdk.data.datastore import Datastore

        return Datastore.get_default(self._whole())

    def set_default_datastore(self, name: str) -> None:
        self._clients.data.set_default_datastore(name)

    def _whole(self) -> Workspace:
        return cast("Workspace", self)
