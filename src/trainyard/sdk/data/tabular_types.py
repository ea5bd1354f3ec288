"""The types of columns: found in text, or as the user said."""

from __future__ import annotations

import re
from typing import Any

from trainyard.sdk.errors import UserErrorException

_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$|\d{1,2}/\d{1,2}/\d{4}( .*)?$"
)


_LOOKED_AT = 100  # values of a column, before all of it is taken for times

# Written where there is no value. In a column of text they are text: a country may be NA, a name None.
_NULL_WORDS = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL", "Null", "null", "None")
_TRUTH = {"true": True, "false": False}
_TRUTH_SAID = {**_TRUTH, "1": True, "0": False, "1.0": True, "0.0": False}


def null_words_dropped(pandas: Any, frame: Any, reader: dict[str, Any]) -> Any:
    """Columns that are numbers, times or true and false but for words such as NA are those, with nulls."""
    for name in _texts(pandas, frame, reader):
        column = frame[name]
        rest = column.mask(column.isin(_NULL_WORDS))
        values = rest.dropna()
        if not len(values) or len(values) == column.notna().sum():
            continue
        numbers = pandas.to_numeric(rest, errors="coerce")
        if numbers.notna().sum() == len(values):
            frame[name] = numbers
        elif values.astype(str).str.lower().isin(_TRUTH).all():
            frame[name] = rest.astype("object").map(lambda value: _TRUTH.get(str(value).lower()))
        elif (found := _as_times(pandas, rest)) is not None:
            frame[name] = found
    return frame


def times_found(pandas: Any, frame: Any, reader: dict[str, Any]) -> Any:
    """Text columns whose values are all times become times, unless the user said what they are."""
    for name in _texts(pandas, frame, reader):
        if (found := _as_times(pandas, frame[name])) is not None:
            frame[name] = found
    return frame


def kind_of(column: Any) -> str | None:
    """numbers, bool, times or text; None where there is no value."""
    if column.isna().all():
        return None
    return {"i": "numbers", "u": "numbers", "f": "numbers", "b": "bool", "M": "times"}.get(column.dtype.kind, "text")


def typed(pandas: Any, frame: Any, reader: dict[str, Any], *, strict: bool) -> Any:
    """`strict`: a value that is not of the type its column is said to be of is an error, not null."""
    for name, said in reader.get("types", {}).items():
        if name not in frame.columns:
            continue
        column = frame[name]
        try:
            converted = _CONVERTERS[said["kind"]](pandas, column, said["formats"])
        except (ValueError, TypeError) as error:
            raise UserErrorException(
                f"Column {name!r} cannot be read as {said['kind']}: {error}. Correct set_column_types."
            ) from error
        if strict and (lost := column.notna() & converted.isna() & (column.astype(str).str.strip() != "")).any():
            raise UserErrorException(
                f"Column {name!r} has values that are no {said['kind']}, such as {str(column[lost].iloc[0])[:100]!r}. "
                "Correct set_column_types, or leave on_error='fail' out: then they are null."
            )
        frame[name] = converted
    return frame


def _texts(pandas: Any, frame: Any, reader: dict[str, Any]) -> list[str]:
    text = pandas.api.types.is_string_dtype
    return [name for name in frame.columns if name not in reader["types"] and text(frame[name])]


def _as_times(pandas: Any, column: Any) -> Any:
    """None unless every value is a time."""
    values = column.dropna()
    if not len(values) or not all(isinstance(it, str) and _TIME.match(it) for it in values.iloc[:_LOOKED_AT]):
        return None
    found = pandas.to_datetime(column, errors="coerce", format="mixed", utc=True).dt.tz_localize(None)
    return found if found.notna().sum() == len(values) else None


def _string(_: Any, column: Any, __: Any) -> Any:
    return column.astype("object").where(column.isna(), column.astype(str))


def _datetime(pandas: Any, column: Any, formats: list[str] | None) -> Any:
    found = None
    for form in formats or ["mixed"]:
        part = pandas.to_datetime(column, errors="coerce", utc=True, format=form).dt.tz_localize(None)
        found = part if found is None else found.fillna(part)
    return found


def _bool(pandas: Any, column: Any, _: Any) -> Any:
    return column.map(lambda value: None if pandas.isna(value) else _TRUTH_SAID.get(str(value).strip().lower()))


def _float(pandas: Any, column: Any, formats: list[str] | None) -> Any:
    if formats and formats[0] != ".":
        column = column.astype(str).str.replace(formats[0], ".", regex=False)
    return pandas.to_numeric(column, errors="coerce").astype("float64")


def _long(pandas: Any, column: Any, _: Any) -> Any:
    """Whole numbers to the last digit, also where some are missing; what has a fraction is none."""
    numbers = pandas.to_numeric(column, errors="coerce", dtype_backend="numpy_nullable")
    if numbers.dtype.kind == "f":
        numbers = numbers.mask((numbers % 1 != 0).fillna(True))
    return numbers.astype("Int64" if numbers.isna().any() else "int64")


_CONVERTERS = {"string": _string, "datetime": _datetime, "bool": _bool, "float": _float, "long": _long}
