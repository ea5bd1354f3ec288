"""A dataset in the details of a run that read or left it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import DatasetDefinition, DataUse

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


class UsedDataset(dict[str, Any]):
    """Shown and stored as its id, name and version. Used, it is the dataset: got from the service when it is first
    asked for something, so that details cost nothing more and outlive the dataset."""

    def __init__(self, workspace: Workspace, use: DataUse) -> None:
        super().__init__(id=use.dataset_id, name=use.dataset_name, version=use.dataset_version)
        self._workspace = workspace
        self._use = use

    @functools.cached_property
    def _dataset(self) -> Any:
        from trainyard.sdk.data.dataset_base import AbstractDataset
        from trainyard.sdk.data.file_dataset import FileDataset

        if self._use.dataset_id is None:  # a path of a datastore, as it was given before there were datasets
            return FileDataset(DatasetDefinition("file", self._use.sources), self._workspace)
        return AbstractDataset.get_by_id(self._workspace, self._use.dataset_id)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def update(self, *args: Any, **kwargs: Any) -> Any:
        """The dataset's, not the dict's."""
        return self._dataset.update(*args, **kwargs)
