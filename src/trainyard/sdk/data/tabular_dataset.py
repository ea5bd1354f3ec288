"""TabularDataset: rows and columns out of files, read when they are asked for."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any, NoReturn

from trainyard.sdk.data.data_expressions import RecordFieldExpression, wire_of
from trainyard.sdk.data.dataset_base import AbstractDataset, checked_count, checked_share, seed_or_new
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import DatasetTimestampMissingError, UserErrorException


class TabularDataset(AbstractDataset):
    _kind = "tabular"

    # Reading

    def to_pandas_dataframe(self, on_error: str = "null", out_of_range_datetime: str = "null") -> Any:
        """Only the columns and rows that are asked for are read. A declared timestamp column is the index too."""
        from trainyard.sdk.data.tabular_engine import frame_of

        for name, value in (("on_error", on_error), ("out_of_range_datetime", out_of_range_datetime)):
            if value not in ("null", "fail"):
                raise UserErrorException(f"{name} is {value!r}; use 'null' or 'fail'.")
        frame = frame_of(self._definition, self._workspace, strict="fail" in (on_error, out_of_range_datetime))
        timestamp = self._definition.traits.get("timestamp")
        if timestamp is not None and timestamp in frame.columns:
            frame = frame.set_index(timestamp, drop=False)
            frame.index.name = None
        return frame

    def to_csv_files(self, separator: str = ",") -> Any:
        """The rows as one CSV file in the default datastore."""
        from trainyard.sdk.data.tabular_files import to_files

        return to_files(self, "csv", separator)

    def to_parquet_files(self) -> Any:
        """The rows as one Parquet file in the default datastore."""
        from trainyard.sdk.data.tabular_files import to_files

        return to_files(self, "parquet")

    def to_spark_dataframe(self) -> NoReturn:
        raise UserErrorException("There is no Spark here. Use to_pandas_dataframe().")

    def to_dask_dataframe(self, *_: Any, **__: Any) -> NoReturn:
        raise UserErrorException(
            "Dask is not supported. Use dask.dataframe.from_pandas(dataset.to_pandas_dataframe())."
        )

    def mount(self, stream_column: str | None = None, mount_point: str | None = None) -> NoReturn:
        del stream_column, mount_point
        raise UserErrorException("A tabular dataset is no folder. Use to_pandas_dataframe(), or to_csv_files().")

    def download(self, *_: Any, **__: Any) -> NoReturn:
        self.mount()

    as_mount = as_download = as_hdfs = download

    # Columns

    def __getitem__(self, column: str) -> RecordFieldExpression:
        """A column, for filter()."""
        if not isinstance(column, str):
            raise UserErrorException(
                f"dataset[...] takes the name of one column, for filter(), not {column!r}. keep_columns([...]) chooses "
                "columns, and to_pandas_dataframe() reads them."
            )
        return RecordFieldExpression(["column", column])

    __iter__ = None  # else a loop would ask for the columns 0, 1, 2, … without end

    def keep_columns(self, columns: Any, validate: bool = False) -> TabularDataset:
        named = _names(columns)
        made = self._without_traits([it for it in self._timestamps() if it not in named])
        made = made._step(op="keep", columns=named)
        if validate:
            made.take(1).to_pandas_dataframe()
        return made

    def drop_columns(self, columns: Any) -> TabularDataset:
        named = _names(columns)
        return self._without_traits([it for it in self._timestamps() if it in named])._step(op="drop", columns=named)

    # Rows

    def skip(self, count: int) -> TabularDataset:
        return self._step(op="skip", count=checked_count(count, "count"))

    def take(self, count: int) -> TabularDataset:
        return self._step(op="take", count=checked_count(count, "count"))

    def take_sample(self, probability: float, seed: int | None = None) -> TabularDataset:
        share = checked_share(probability, "probability")
        return self._step(op="sample", probability=share, seed=seed_or_new(seed))

    def random_split(self, percentage: float, seed: int | None = None) -> tuple[TabularDataset, TabularDataset]:
        share, number = checked_share(percentage, "percentage"), seed_or_new(seed)
        return (
            self._step(op="split", percentage=share, seed=number, part=0),
            self._step(op="split", percentage=share, seed=number, part=1),
        )

    def filter(self, expression: RecordFieldExpression) -> TabularDataset:
        return self._step(op="filter", expression=wire_of(expression))

    # Time

    @property
    def timestamp_columns(self) -> tuple[str | None, str | None]:
        traits = self._definition.traits
        return traits.get("timestamp"), traits.get("partition_timestamp")

    def with_timestamp_columns(
        self,
        timestamp: str | None = None,
        partition_timestamp: str | None = None,
        validate: bool = False,
        **kwargs: Any,
    ) -> TabularDataset:
        """Says which columns are times, so that the dataset can be cut by time; (None, None) takes it back."""
        # the words of earlier versions
        timestamp = timestamp or kwargs.pop("fine_grain_timestamp", None)
        partition_timestamp = partition_timestamp or kwargs.pop("coarse_grain_timestamp", None)
        no_effect("TabularDataset.with_timestamp_columns", **kwargs)
        if timestamp is None and partition_timestamp is not None:
            raise UserErrorException("partition_timestamp needs a timestamp. Give the column of the exact time too.")
        if timestamp is not None and timestamp == partition_timestamp:
            raise UserErrorException("timestamp and partition_timestamp are the same column. Leave the second out.")
        traits = {"timestamp": timestamp, "partition_timestamp": partition_timestamp}
        given = {key: value for key, value in traits.items() if value is not None}
        rest = {key: value for key, value in self._definition.traits.items() if key not in traits}
        made = self._other(replace(self._definition, traits={**rest, **given}))
        if validate:
            from trainyard.sdk.data.tabular_engine import check_times

            check_times(made.take(100).to_pandas_dataframe(), list(given.values()))
        return made

    def time_before(self, end_time: Any, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        return self._between(None, end_time, include_boundary, validate)

    def time_after(self, start_time: Any, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        return self._between(start_time, None, include_boundary, validate)

    def time_between(
        self, start_time: Any, end_time: Any, include_boundary: bool = True, validate: bool = True
    ) -> TabularDataset:
        return self._between(start_time, end_time, include_boundary, validate)

    def time_recent(self, time_delta: Any, include_boundary: bool = True, validate: bool = True) -> TabularDataset:
        """What lies at most `time_delta` before now."""
        if not isinstance(time_delta, datetime.timedelta):
            raise UserErrorException(f"time_delta is a timedelta, not {time_delta!r}.")
        if time_delta < datetime.timedelta():
            raise UserErrorException(f"time_delta is {time_delta!r}, which lies ahead. Give how far back it goes.")
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        return self._between(now - time_delta, None, include_boundary, validate)

    # What is in it

    def get_profile(self, workspace: Any = None) -> Any:
        """Counts, bounds, means and quantiles of each column, computed here."""
        del workspace
        from trainyard.sdk.data.tabular_profile import profile_of

        return profile_of(self.to_pandas_dataframe())

    def submit_profile_run(self, compute_target: Any, experiment: Any, cache_datastore_name: Any = None) -> NoReturn:
        del compute_target, experiment, cache_datastore_name
        raise UserErrorException("Profiles are computed where they are asked for. Use dataset.get_profile().")

    def get_profile_runs(self, workspace: Any = None) -> NoReturn:
        del workspace
        raise UserErrorException("No profile was computed by a run. Use dataset.get_profile().")

    def partition_by(
        self,
        partition_keys: list[str],
        target: Any,
        name: str | None = None,
        show_progress: bool = True,
        partition_as_file_dataset: bool = False,
    ) -> Any:
        """Writes the rows to `target`, one folder for each combination of the keys' values; registered if named."""
        from trainyard.sdk.data.tabular_files import partitioned

        return partitioned(self, partition_keys, target, name, show_progress, partition_as_file_dataset)

    # Its own parts

    def _between(self, start: Any, end: Any, include: bool, validate: bool) -> TabularDataset:
        timestamp, _ = self.timestamp_columns
        if timestamp is None:
            raise DatasetTimestampMissingError(
                "This dataset has no timestamp column. Say which it is: dataset.with_timestamp_columns('time')."
            )
        bounds = {"after": _moment(start, "start_time"), "before": _moment(end, "end_time")}
        if validate and bounds["after"] and bounds["before"] and bounds["after"] > bounds["before"]:
            raise UserErrorException("start_time is later than end_time. Exchange them.")
        return self._step(op="time", column=timestamp, include=bool(include), **bounds)

    def _timestamps(self) -> list[str]:
        return [name for name in self.timestamp_columns if name is not None]

    def _without_traits(self, gone: list[str]) -> TabularDataset:
        """Without the columns `gone`; when the exact time goes, the coarse one means nothing any more."""
        if not gone:
            return self
        traits = dict(self._definition.traits)
        if traits.get("timestamp") in gone:
            traits.pop("partition_timestamp", None)
        kept = {key: value for key, value in traits.items() if value not in gone or key == "partition_format"}
        return self._other(replace(self._definition, traits=kept))


def _names(columns: Any) -> list[str]:
    named = [columns] if isinstance(columns, str) else list(columns)
    if not named or not all(isinstance(name, str) for name in named):
        raise UserErrorException(f"columns is a name or a list of names, not {columns!r}.")
    return named


def _moment(time: Any, what: str) -> str | None:
    """In UTC, without a zone: what has none is taken to be in UTC."""
    if time is None:
        return None
    if not isinstance(time, datetime.datetime):
        raise UserErrorException(f"{what} is a datetime, not {time!r}.")
    moment: datetime.datetime = time
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return moment.isoformat()
