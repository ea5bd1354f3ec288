"""Dataset.File and Dataset.Tabular: datasets from datastores, web addresses, and this machine."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from trainyard.contract.data import DatasetDefinition, DataSource
from trainyard.contract.names import check_name
from trainyard.sdk.data import readers
from trainyard.sdk.data.file_dataset import FileDataset
from trainyard.sdk.data.tabular_dataset import TabularDataset
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import DatasetValidationError, UserErrorException, sdk_errors
from trainyard.sdk.runs.run_files import files_below

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://")
_CLOUD = ("wasb://", "wasbs://", "abfs://", "abfss://", "adl://", "s3://", "gs://", "dbfs:/")


class FileDatasetFactory:
    @staticmethod
    def from_files(
        path: Any, validate: bool = True, partition_format: str | None = None, is_file: bool = False
    ) -> FileDataset:
        """From a web address, a path on this machine, (datastore, path), a DataPath, a DataReference, or a list of
        them. A path is a file, a folder or a glob. `validate` sees whether there is anything at each."""
        no_effect("Dataset.File.from_files", is_file=is_file or None)
        sources, workspace = sources_of(path)
        made = FileDataset(DatasetDefinition("file", sources, traits=_traits(partition_format)), workspace)
        if validate:
            _validate(made)
        return made

    @staticmethod
    def upload_directory(
        src_dir: str, target: Any, pattern: str | None = None, overwrite: bool = False, show_progress: bool = True
    ) -> FileDataset:
        """Stores a folder (or those of its files that the glob `pattern` fits) in `target`, a DataPath or a tuple of
        datastore and path, and makes a dataset of it."""
        from trainyard.blobs.depots.patterns import matches
        from trainyard.sdk.data.transfers import upload

        store, folder = _target(target)
        source = os.path.abspath(os.path.expanduser(os.fspath(src_dir)))
        if not os.path.isdir(source):
            raise UserErrorException(f"There is no folder {source}. Give src_dir a folder.")
        below = [name for name in files_below(source) if pattern is None or matches(pattern, name)]
        if not below:
            raise UserErrorException(
                f"There is no file in {source} to upload" + (f" that fits {pattern!r}." if pattern else ".")
            )
        files = [(os.path.join(source, name), name) for name in below]
        upload(store._depot(), files, folder, overwrite=overwrite, show=show_progress)
        definition = DatasetDefinition("file", (DataSource(folder, store.name),))
        return FileDataset(definition, store.workspace)


class TabularDatasetFactory:
    @staticmethod
    def from_delimited_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        infer_column_types: bool = True,
        set_column_types: dict[str, Any] | None = None,
        separator: str = ",",
        header: Any = True,
        partition_format: str | None = None,
        support_multi_line: bool = False,
        empty_as_string: bool = False,
        encoding: Any = "utf8",
    ) -> TabularDataset:
        reader = readers.delimited(
            include_path=include_path,
            separator=separator,
            header=header,
            types=set_column_types,
            infer=infer_column_types,
            multi_line=support_multi_line,
            empty_as_string=empty_as_string,
            encoding=encoding,
        )
        return _table(path, reader, partition_format, validate=validate)

    @staticmethod
    def from_parquet_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: dict[str, Any] | None = None,
        partition_format: str | None = None,
    ) -> TabularDataset:
        reader = readers.parquet(include_path=include_path, types=set_column_types)
        return _table(path, reader, partition_format, validate=validate)

    @staticmethod
    def from_json_lines_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: dict[str, Any] | None = None,
        partition_format: str | None = None,
        invalid_lines: str = "error",
        encoding: Any = "utf8",
    ) -> TabularDataset:
        reader = readers.json_lines(
            include_path=include_path, types=set_column_types, invalid_lines=invalid_lines, encoding=encoding
        )
        return _table(path, reader, partition_format, validate=validate)

    @staticmethod
    def from_sql_query(
        query: Any,
        validate: bool = True,
        set_column_types: dict[str, Any] | None = None,
        query_timeout: int | None = None,
    ) -> TabularDataset:
        """`query` is a tuple of a registered database (see Datastore.register_sql) and the SQL."""
        no_effect("Dataset.Tabular.from_sql_query", query_timeout=query_timeout)
        if hasattr(query, "path_on_datastore"):
            query = (query._datastore, query.path_on_datastore)
        if not isinstance(query, list | tuple) or len(query) != 2 or not isinstance(query[1], str):
            raise UserErrorException("query is a tuple of a datastore and the SQL, such as (ds, 'SELECT * FROM t').")
        store, said = query
        if getattr(store, "datastore_type", None) != "Sql":
            raise UserErrorException(
                "from_sql_query asks a registered database. Register its address once: "
                "Datastore.register_sql(workspace, 'name', 'postgresql+psycopg://user@host/db', password=...)."
            )
        reader = {"format": "sql", "query": said, "types": readers.column_types(set_column_types)}
        made = TabularDataset(DatasetDefinition("tabular", (DataSource("", store.name),), reader), store.workspace)
        if validate:
            made.take(1).to_pandas_dataframe()
        return made

    @staticmethod
    def register_pandas_dataframe(
        dataframe: Any,
        target: Any,
        name: str,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        show_progress: bool = True,
        row_group_size: int | None = None,
        make_target_path_unique: bool = True,
    ) -> TabularDataset:
        """Writes the frame as Parquet to `target`, a datastore or a tuple of one and a path, and registers it."""
        from trainyard.sdk.data.tabular_files import write_parquet

        if not hasattr(dataframe, "to_parquet"):
            raise UserErrorException(f"dataframe is a pandas DataFrame, not a {type(dataframe).__name__}.")
        with sdk_errors():
            check_name("a dataset", name)
        store, folder = _target(target)
        path = f"{folder}/{uuid.uuid4()}" if make_target_path_unique else folder
        path = path.strip("/")
        write_parquet(dataframe, store, path, row_group_size=row_group_size, show=show_progress)
        made = TabularDatasetFactory.from_parquet_files((store, f"{path}/*.parquet"), validate=False)
        return made.register(store.workspace, name, description, tags, create_new_version=True)

    @staticmethod
    def register_spark_dataframe(*_: Any, **__: Any) -> NoReturn:
        raise UserErrorException(
            "There is no Spark here. Use register_pandas_dataframe, or write Parquet and upload it."
        )

    @staticmethod
    def register_dask_dataframe(*_: Any, **__: Any) -> NoReturn:
        raise UserErrorException("Dask is not supported. Use register_pandas_dataframe(dataframe.compute(), ...).")


def sources_of(path: Any) -> tuple[tuple[DataSource, ...], Workspace | None]:
    """What the user named, and the workspace its datastores are in."""
    found = [part for item in _items(path) for part in _parts(item)]
    if not found:
        raise UserErrorException("path is empty. Give at least one address, path or (datastore, path).")
    workspaces = [workspace for _, workspace in found if workspace is not None]
    if len({workspace._workspace_id_internal for workspace in workspaces}) > 1:
        raise UserErrorException("The paths are in datastores of several workspaces. Make a dataset for each.")
    return tuple(source for source, _ in found), workspaces[0] if workspaces else None


def _items(path: Any) -> Sequence[Any]:
    if isinstance(path, list):
        return path
    if isinstance(path, tuple) and not (len(path) == 2 and hasattr(path[0], "datastore_type")):
        return path
    return [path]


def _parts(item: Any) -> list[tuple[DataSource, Workspace | None]]:
    if isinstance(item, tuple | list) and len(item) == 2 and hasattr(item[0], "datastore_type"):
        store, paths = item
        return [_in_store(store, path) for path in (paths if isinstance(paths, list | tuple) else [paths])]
    if hasattr(item, "path_on_datastore"):
        return [_in_store(getattr(item, "_datastore", None) or item.datastore, item.path_on_datastore)]
    if hasattr(item, "datastore_type"):
        return [_in_store(item, "")]
    if isinstance(item, str | os.PathLike):
        return [(_of_text(os.fspath(item)), None)]
    raise UserErrorException(
        f"path has a {type(item).__name__}. Give a web address, a path, a (datastore, path) tuple or a DataPath."
    )


def _in_store(store: Any, path: Any) -> tuple[DataSource, Workspace]:
    from trainyard.blobs.depots.base import checked_path

    if not isinstance(path, str | type(None)):
        raise UserErrorException(f"{path!r} is no path in datastore {store.name!r}. Give text such as 'mnist/*.gz'.")
    with sdk_errors():
        return DataSource(checked_path(path or ""), store.name), store.workspace


def _of_text(path: str) -> DataSource:
    if path.startswith(("http://", "https://")):
        return DataSource(path)
    if path.startswith(_CLOUD):
        raise UserErrorException(
            f"{path} is in a store that is not registered. Register it (Datastore.register_azure_blob_container, "
            "register_s3_bucket) and give (datastore, path)."
        )
    path = path.removeprefix("file://")
    if _SCHEME.match(path):
        raise UserErrorException(
            f"{path!r} is an address that is not fetched from: only http and https are. Fetch the file yourself, and "
            "give its path, or upload it to a datastore."
        )
    return DataSource(os.path.abspath(os.path.expanduser(path)))


def _traits(partition_format: str | None) -> dict[str, Any]:
    if partition_format is None:
        return {}
    from trainyard.sdk.data.partitions import check_form

    check_form(partition_format)
    return {"partition_format": partition_format}


def _table(path: Any, reader: dict[str, Any], form: str | None, *, validate: bool) -> TabularDataset:
    sources, workspace = sources_of(path)
    made = TabularDataset(DatasetDefinition("tabular", sources, reader, traits=_traits(form)), workspace)
    if validate:
        _validate(made)
    return made


def _validate(dataset: Any) -> None:
    """Something is there at each source. Of Parquet the first bytes are read, of everything else nothing."""
    from trainyard.sdk.data.readers import check_parquet

    try:
        entries = dataset._entries()
        if dataset._definition.reader.get("format") == "parquet":
            check_parquet(entries[0])
    except UserErrorException as error:
        raise DatasetValidationError(
            f"{error.message} (validate=False makes the dataset without looking.)", error.inner_exception
        ) from error


def _target(target: Any) -> tuple[Any, str]:
    from trainyard.blobs.depots.base import checked_path

    if isinstance(target, tuple | list) and len(target) == 2:
        store, path = target
    elif hasattr(target, "path_on_datastore"):
        store, path = target._datastore, target.path_on_datastore
    else:
        store, path = target, ""
    if not hasattr(store, "_depot"):
        raise UserErrorException("target is a datastore, a (datastore, path) tuple or a DataPath.")
    with sdk_errors():
        return store, checked_path(path or "")
