"""The public datasets that the notebooks of those years use, from their public addresses (see TRAINYARD_URL_MAP)."""

from __future__ import annotations

from typing import Any, ClassVar

from trainyard.sdk.data.dataset_factory import FileDatasetFactory, TabularDatasetFactory
from trainyard.sdk.data.file_dataset import FileDataset
from trainyard.sdk.data.tabular_dataset import TabularDataset
from trainyard.sdk.effects import no_effect

_STORE = "https://azureopendatastorage.blob.core.windows.net"


class OpenDataset:
    _files: ClassVar[tuple[str, ...]] = ()
    _table: ClassVar[str] = ""

    @classmethod
    def get_file_dataset(cls, **kwargs: Any) -> FileDataset:
        """The files as they are published."""
        no_effect(f"{cls.__name__}.get_file_dataset", **kwargs)
        return FileDatasetFactory.from_files([f"{_STORE}/{path}" for path in cls._files], validate=False)

    @classmethod
    def get_tabular_dataset(cls, **kwargs: Any) -> TabularDataset:
        no_effect(f"{cls.__name__}.get_tabular_dataset", **kwargs)
        return TabularDatasetFactory.from_parquet_files(f"{_STORE}/{cls._table}", validate=False)

    def to_pandas_dataframe(self) -> Any:
        return self.get_tabular_dataset().to_pandas_dataframe()


class MNIST(OpenDataset):
    """70,000 handwritten digits: four files in the IDX form, or a table with a column for each pixel."""

    _files = (
        "mnist/t10k-images-idx3-ubyte.gz",
        "mnist/t10k-labels-idx1-ubyte.gz",
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
    )
    _table = "mnist/processed/mnist.parquet"

    @classmethod
    def get_tabular_dataset(cls, dataset_filter: str = "all", **kwargs: Any) -> TabularDataset:
        made = super().get_tabular_dataset(**kwargs)
        return made if dataset_filter == "all" else made.filter(made["split"] == dataset_filter)


class Diabetes(OpenDataset):
    """442 patients: ten measurements, and the course of the disease in column Y."""

    _files = ("mlsamples/diabetes/diabetes.parquet",)
    _table = _files[0]
