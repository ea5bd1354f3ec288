"""Tables, written: into datastores, as Parquet or CSV."""

from __future__ import annotations

import os
import tempfile
import uuid
from typing import Any

from trainyard.contract.data import DatasetDefinition, DataSource
from trainyard.sdk.data.partitions import as_folder
from trainyard.sdk.data.tabular_plan import wanted
from trainyard.sdk.data.transfers import upload
from trainyard.sdk.errors import UserErrorException


def write_parquet(frame: Any, store: Any, folder: str, *, row_group_size: int | None = None, show: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="trainyard-table-") as aside:
        file = os.path.join(aside, "part-00000.parquet")
        _as_parquet(frame, file, **({"row_group_size": row_group_size} if row_group_size else {}))
        upload(store._depot(), [(file, "part-00000.parquet")], folder, overwrite=True, show=show)


def to_files(dataset: Any, form: str, separator: str = ",") -> Any:
    """The dataset as it is now, as one file of the default datastore."""
    from trainyard.sdk.data.file_dataset import FileDataset

    store = _default_store(dataset)
    frame = dataset.to_pandas_dataframe().reset_index(drop=True)
    folder = f"converted/{uuid.uuid4()}"
    with tempfile.TemporaryDirectory(prefix="trainyard-table-") as aside:
        name = f"part-00000.{form}"
        file = os.path.join(aside, name)
        if form == "csv":
            frame.to_csv(file, index=False, sep=separator)
        else:
            _as_parquet(frame, file)
        upload(store._depot(), [(file, name)], folder, overwrite=True, show=False)
    return FileDataset(DatasetDefinition("file", (DataSource(folder, store.name),)), store.workspace)


def partitioned(dataset: Any, keys: Any, target: Any, name: str | None, show: bool, as_files: bool) -> Any:
    from trainyard.sdk.data.dataset_factory import FileDatasetFactory, TabularDatasetFactory, _target

    if not keys or isinstance(keys, str):
        raise UserErrorException("partition_keys is a list of column names, such as ['state'].")
    store, folder = _target(target)
    frame = dataset.to_pandas_dataframe().reset_index(drop=True)
    if missing := [key for key in keys if key not in frame.columns]:
        raise UserErrorException(f"There is no column {missing[0]!r} to partition by. Check partition_keys.")
    top = "/".join(part for part in (folder, str(uuid.uuid4())) if part)
    with tempfile.TemporaryDirectory(prefix="trainyard-table-") as aside:
        files = []
        for number, (values, rows) in enumerate(frame.groupby(keys, dropna=False)):
            file = os.path.join(aside, f"{number}.parquet")
            _as_parquet(rows.drop(columns=keys), file)
            # no two of one name: what is empty and what has no value are in one folder
            files.append((file, "/".join([*map(as_folder, values), f"part-{number:05}.parquet"])))
        upload(store._depot(), files, top, overwrite=True, show=show)
    form = "/".join([top, *(f"{{{key}}}" for key in keys), "*.parquet"])
    path = (store, f"{top}/**/*.parquet")
    made: Any = (
        FileDatasetFactory.from_files(path, validate=False, partition_format=form)
        if as_files
        else TabularDatasetFactory.from_parquet_files(path, validate=False, partition_format=form)
    )
    return made.register(store.workspace, name, create_new_version=True) if name else made


def _as_parquet(frame: Any, file: str, **options: Any) -> None:
    arrow = wanted("pyarrow")
    try:
        frame.to_parquet(file, index=False, **options)
    except (arrow.ArrowException, ValueError, TypeError) as error:
        said = next((str(part) for part in error.args if "column" in str(part)), str(error)).splitlines()[0]
        raise UserErrorException(
            f"The table cannot be written as Parquet: {said}. Give each column values of one type, such as "
            "frame.astype({'column': str})."
        ) from error


def _default_store(dataset: Any) -> Any:
    if dataset._workspace is None:
        raise UserErrorException(
            "The files are written to the workspace's default datastore, and this dataset is of no workspace yet. "
            "Register it first."
        )
    return dataset._workspace.get_default_datastore()
