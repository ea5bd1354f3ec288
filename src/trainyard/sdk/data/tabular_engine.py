"""Tables, read: with tabular_readers the one place that knows pandas and pyarrow, imported when a table is asked for.

The steps that come first are done while reading: of Parquet only the columns and rows that are wanted leave the disk,
of text files only the columns are kept and no more rows are read than asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import DatasetDefinition
from trainyard.sdk.data.tabular_plan import have, plan_of, wanted
from trainyard.sdk.data.tabular_readers import read
from trainyard.sdk.data.tabular_types import typed
from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import UserErrorException

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


def frame_of(definition: DatasetDefinition, workspace: Workspace | None, *, strict: bool = False) -> Any:
    """The table as a pandas frame."""
    pandas = wanted("pandas")
    frame = read(pandas, definition, workspace, plan_of(definition))
    frame = typed(pandas, frame, definition.reader, strict=strict)
    for step in definition.steps:
        frame = _apply(pandas, frame, step)
    return frame.reset_index(drop=True)


def check_times(frame: Any, columns: list[str]) -> None:
    pandas = wanted("pandas")
    for column in columns:
        have(frame, [column])
        if not pandas.api.types.is_datetime64_any_dtype(frame[column]):
            raise _not_of_times(column)


def _apply(pandas: Any, frame: Any, step: dict[str, Any]) -> Any:
    match step["op"]:
        case "keep":
            have(frame, step["columns"])
            return frame[list(step["columns"])]
        case "drop":
            _tell_of_absent(frame, step["columns"])
            return frame.drop(columns=step["columns"], errors="ignore")
        case "skip":
            return frame.iloc[step["count"] :]
        case "take":
            return frame.iloc[: step["count"]]
        case "sample":
            return frame[_numbers(len(frame), step["seed"]) < step["probability"]]
        case "split":
            first = _numbers(len(frame), step["seed"]) < step["percentage"]
            return frame[first if step["part"] == 0 else ~first]
        case "filter":
            return frame[_mask(pandas, frame, step["expression"]).fillna(False).astype(bool)]
        case "time":
            return frame[_time_mask(pandas, frame, step)]
        case unknown:
            raise UserErrorException(f"A tabular dataset has no step {unknown!r}. Make it again with this version.")


def _tell_of_absent(frame: Any, columns: list[str]) -> None:
    """What is not there is dropped already, as in the SDK: scripts name columns that only some files have."""
    if absent := [name for name in columns if name not in frame.columns]:
        have = ", ".join(map(repr, frame.columns))
        tell_once(f"drop_columns: there is no column {absent[0]!r} to drop. The columns are {have}.")


def _numbers(count: int, seed: int) -> Any:
    return wanted("numpy").random.default_rng(seed).random(count)


def _mask(pandas: Any, frame: Any, said: Any) -> Any:
    if not isinstance(said, list):
        return said
    op, *parts = said
    if op == "column":
        have(frame, parts)
        return frame[parts[0]]
    if op == "time":
        return pandas.Timestamp(parts[0])
    values = [_mask(pandas, frame, part) for part in parts]
    texts = {"contains": "contains", "starts": "startswith", "ends": "endswith"}
    if op in texts:
        options = {"regex": False} if op == "contains" else {}
        return getattr(values[0].astype("string").str, texts[op])(values[1], **options)
    if op == "null":
        return values[0].isna()
    if op == "not":
        return ~values[0].fillna(False).astype(bool)
    try:
        return _COMPARE[op](*values)
    except (KeyError, TypeError) as error:
        raise UserErrorException(
            f"The filter compares what cannot be compared: {error}. Check the column types."
        ) from error


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda a, b: a.fillna(False).astype(bool) & b.fillna(False).astype(bool),
    "or": lambda a, b: a.fillna(False).astype(bool) | b.fillna(False).astype(bool),
}


def _time_mask(pandas: Any, frame: Any, step: dict[str, Any]) -> Any:
    times = _times_of(pandas, frame, step["column"])
    mask = times.notna()
    if step["after"]:
        bound = pandas.Timestamp(step["after"])
        mask &= times >= bound if step["include"] else times > bound
    if step["before"]:
        bound = pandas.Timestamp(step["before"])
        mask &= times <= bound if step["include"] else times < bound
    return mask


def _times_of(pandas: Any, frame: Any, name: str) -> Any:
    have(frame, [name])
    column = frame[name]
    if pandas.api.types.is_numeric_dtype(column):
        raise _not_of_times(name)
    times = pandas.to_datetime(column, utc=True, errors="coerce", format="mixed").dt.tz_localize(None)
    if column.notna().any() and times.isna().all():
        raise _not_of_times(name)
    return times


def _not_of_times(name: str) -> UserErrorException:
    return UserErrorException(
        f"Column {name!r} is not of times. Read it with set_column_types={{{name!r}: DataType.to_datetime()}}."
    )
