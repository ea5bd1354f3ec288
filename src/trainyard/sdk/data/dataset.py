"""Dataset: the name that users import."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.data.dataset_base import AbstractDataset
from trainyard.sdk.data.dataset_factory import FileDatasetFactory, TabularDatasetFactory


class Dataset:
    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    get_by_name = staticmethod(AbstractDataset.get_by_name)
    get_by_id = staticmethod(AbstractDataset.get_by_id)
    get_all = staticmethod(AbstractDataset.get_all)

    class Scenario:
        TRAINING = "training"
        VALIDATION = "validation"
        INFERENCING = "inferencing"

    @staticmethod
    def get(workspace: Any, name: str | None = None, id: str | None = None) -> Any:
        return AbstractDataset.get_by_id(workspace, id) if id else AbstractDataset.get_by_name(workspace, str(name))

    @staticmethod
    def from_delimited_files(path: Any, separator: str = ",", header: Any = True, **kwargs: Any) -> Any:
        """The older name of Dataset.Tabular.from_delimited_files."""
        return TabularDatasetFactory.from_delimited_files(path, separator=separator, header=header, **_known(kwargs))

    @staticmethod
    def from_parquet_files(path: Any, include_path: bool = False, partition_format: str | None = None) -> Any:
        """The older name of Dataset.Tabular.from_parquet_files."""
        return TabularDatasetFactory.from_parquet_files(
            path, include_path=include_path, partition_format=partition_format
        )


def _known(given: dict[str, Any]) -> dict[str, Any]:
    from trainyard.sdk.effects import no_effect

    kept: dict[str, Any] = {
        key: given.pop(key) for key in ("encoding", "include_path", "partition_format") if key in given
    }
    no_effect("Dataset.from_delimited_files", **given)
    return kept
