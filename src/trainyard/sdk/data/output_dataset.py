"""OutputFileDatasetConfig: a folder that a run writes and that becomes a dataset."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Self

from trainyard.contract.data import (
    OUTPUT_MARK,
    OUTPUT_PATH,
    DataMode,
    DatasetDefinition,
    DataSource,
    RunOutput,
)
from trainyard.contract.names import check_name
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import UserErrorException, sdk_errors
from trainyard.sdk.submitting.arguments import DataArgument

if TYPE_CHECKING:
    from trainyard.sdk.data.dataset_consumption import DatasetConsumptionConfig


class OutputDatasetConfig(DataArgument):
    """What both kinds of output are. as_upload, as_mount and register_on_complete return copies."""

    def __init__(self, name: str | None, destination: Any, source: str | None) -> None:
        self.name = name or f"output_{os.urandom(4).hex()}"
        self.destination = _destination(destination)
        self.source = source
        self._mode = DataMode.MOUNT
        self._overwrite = False
        self._globs: tuple[str, ...] = ()
        self._register_as: str | None = None
        self._description: str | None = None
        self._tags: dict[str, str] = {}
        self._reader: dict[str, Any] | None = None
        self._steps: tuple[dict[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        with sdk_errors():
            check_name("an input or output", name)
        self._name = name

    def register_on_complete(
        self, name: str, description: str | None = None, tags: dict[str, str] | None = None
    ) -> Self:
        """A completed run registers what it wrote, as the next version of the dataset `name`."""
        if not name:
            raise ValueError("register_on_complete needs a name")
        with sdk_errors():
            check_name("a dataset", name)
        made = copy.copy(self)
        made._register_as, made._description = name, description
        made._tags = {str(key): str(value) for key, value in (tags or {}).items()}
        return made

    def as_input(self, name: str | None = None) -> DatasetConsumptionConfig:
        """What it leaves, as an input of a later run. Its destination must be one path for that."""
        from trainyard.sdk.data.dataset_base import AbstractDataset
        from trainyard.sdk.data.dataset_consumption import DatasetConsumptionConfig
        from trainyard.sdk.data.file_dataset import FileDataset
        from trainyard.sdk.data.tabular_dataset import TabularDataset

        store, path = self.destination if self.destination else (None, OUTPUT_PATH)
        if store is None or "{run-id}" in path:
            raise UserErrorException(
                "Which run's output is meant is known only in a pipeline. Give the output a destination of its own, "
                "destination=(datastore, 'path'), or register_on_complete(name) and use Dataset.get_by_name."
            )
        source = DataSource(path.replace("{output-name}", self.name), store.name)
        kind = "tabular" if self._reader is not None else "file"
        definition = DatasetDefinition(kind, (source,), self._reader or {}, self._steps)
        made: AbstractDataset = (
            TabularDataset(definition, store.workspace)
            if kind == "tabular"
            else FileDataset(definition, store.workspace)
        )
        config = DatasetConsumptionConfig(name or f"input_{self.name}", made)
        return config if kind == "tabular" else config.as_mount()

    def _text_in_arguments(self) -> str:
        return OUTPUT_MARK + self.name

    def _named(self) -> tuple[str, str, Any]:
        return "output_data", self.name, self._run_output()

    def _run_output(self) -> RunOutput:
        store, path = self.destination if self.destination else (None, OUTPUT_PATH)
        return RunOutput(
            name=self.name,
            mode=self._mode,
            datastore=store.name if store is not None else None,
            path=path or OUTPUT_PATH,
            source=self.source,
            globs=self._globs,
            overwrite=self._overwrite,
            register_as=self._register_as,
            description=self._description,
            tags=self._tags,
            reader=self._reader,
            steps=self._steps,
        )


class OutputFileDatasetConfig(OutputDatasetConfig):
    def __init__(
        self,
        name: str | None = None,
        destination: Any = None,
        source: str | None = None,
        partition_format: str | None = None,
    ) -> None:
        no_effect("OutputFileDatasetConfig", partition_format=partition_format)
        super().__init__(name, destination, source)

    def as_mount(self, disable_metadata_cache: bool = False) -> OutputFileDatasetConfig:
        """Files of a local datastore are written in place; those of a remote one are stored when the run ends."""
        no_effect("OutputFileDatasetConfig.as_mount", disable_metadata_cache=disable_metadata_cache or None)
        made = copy.copy(self)
        made._mode = DataMode.MOUNT
        return made

    def as_upload(self, overwrite: bool = False, source_globs: Any = None) -> OutputFileDatasetConfig:
        """Stored when the run's processes have ended; only files that `source_globs` fit, where they are given."""
        globs = [source_globs] if isinstance(source_globs, str) else list(source_globs or ())
        made = copy.copy(self)
        made._mode, made._overwrite, made._globs = DataMode.UPLOAD, overwrite, tuple(map(str, globs))
        return made

    def read_delimited_files(
        self,
        include_path: bool = False,
        separator: str = ",",
        header: Any = True,
        partition_format: str | None = None,
        path_glob: str | None = None,
        set_column_types: dict[str, Any] | None = None,
    ) -> OutputTabularDatasetConfig:
        """Registered, it is a table of the delimited files that the run wrote."""
        from trainyard.sdk.data.readers import delimited

        reader = delimited(include_path=include_path, separator=separator, header=header, types=set_column_types)
        return self._table(reader, partition_format, path_glob)

    def read_parquet_files(
        self,
        include_path: bool = False,
        partition_format: str | None = None,
        path_glob: str | None = None,
        set_column_types: dict[str, Any] | None = None,
    ) -> OutputTabularDatasetConfig:
        from trainyard.sdk.data.readers import parquet

        return self._table(parquet(include_path=include_path, types=set_column_types), partition_format, path_glob)

    def _table(self, reader: dict[str, Any], form: str | None, glob: str | None) -> OutputTabularDatasetConfig:
        made = OutputTabularDatasetConfig(self.name, None, self.source)
        made.__dict__.update({**vars(self), "_reader": {**reader, "partition_format": form, "glob": glob}})
        return made


class OutputTabularDatasetConfig(OutputDatasetConfig):
    """An output that is registered as a table."""

    def keep_columns(self, columns: Any) -> OutputTabularDatasetConfig:
        return self._step("keep", columns)

    def drop_columns(self, columns: Any) -> OutputTabularDatasetConfig:
        return self._step("drop", columns)

    def _step(self, op: str, columns: Any) -> OutputTabularDatasetConfig:
        made = copy.copy(self)
        named = [columns] if isinstance(columns, str) else list(columns)
        made._steps = (*self._steps, {"op": op, "columns": named})
        return made


def _destination(said: Any) -> tuple[Any, str] | None:
    if said is None:
        return None
    store, path = said if isinstance(said, list | tuple) and len(said) == 2 else (said, OUTPUT_PATH)
    if not hasattr(store, "datastore_type"):
        raise UserErrorException("destination is a tuple of a datastore and a path, such as (ds, 'outputs/{run-id}').")
    from trainyard.blobs.depots.base import checked_path

    with sdk_errors():
        return store, checked_path(path or OUTPUT_PATH)
