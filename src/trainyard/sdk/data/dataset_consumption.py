"""A dataset as an input of a run: under which name, and how the script gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from trainyard.contract.data import INPUT_MARK, DataMode, RunInput
from trainyard.contract.names import check_name
from trainyard.sdk.errors import UserErrorException, sdk_errors
from trainyard.sdk.submitting.arguments import DataArgument

if TYPE_CHECKING:
    from trainyard.sdk.data.dataset_base import AbstractDataset


class DatasetConsumptionConfig(DataArgument):
    def __init__(
        self, name: str, dataset: AbstractDataset, mode: str = "direct", path_on_compute: str | None = None
    ) -> None:
        self.name = name
        self.dataset = dataset
        if str(mode).lower() == "hdfs":
            self.as_hdfs()
        if str(mode).lower() not in ("direct", "mount", "download"):
            raise UserErrorException(f"mode is {mode!r}; use direct, mount or download.")
        self.mode = str(mode).lower()
        self.path_on_compute = path_on_compute

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        with sdk_errors():
            check_name("an input or output", name)
        self._name = name

    def as_mount(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        return self._as(DataMode.MOUNT, path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        return self._as(DataMode.DOWNLOAD, path_on_compute)

    def as_direct(self) -> DatasetConsumptionConfig:
        return DatasetConsumptionConfig(self.name, self.dataset)

    def as_hdfs(self) -> NoReturn:
        raise UserErrorException("There is no HDFS here. Use as_mount() or as_download().")

    def _as(self, mode: DataMode, path_on_compute: str | None) -> DatasetConsumptionConfig:
        if getattr(self.dataset, "_kind", "file") == "tabular":
            raise UserErrorException(
                f"{self.name!r} is a tabular dataset, which is no folder. Leave {mode.value} out and read "
                f"run.input_datasets[{self.name!r}].to_pandas_dataframe() in the script."
            )
        return DatasetConsumptionConfig(self.name, self.dataset, mode.value, path_on_compute)

    def _text_in_arguments(self) -> str:
        return INPUT_MARK + self.name

    def _named(self) -> tuple[str, str, Any]:
        return "data", self.name, self._run_input()

    def _run_input(self) -> RunInput:
        dataset = self.dataset
        return RunInput(
            self.name,
            DataMode(self.mode),
            dataset._definition,
            dataset.id,
            dataset.name,
            dataset.version,
            self.path_on_compute,
        )

    def __repr__(self) -> str:
        return f"DatasetConsumptionConfig({self.name!r}, {self.mode})"
