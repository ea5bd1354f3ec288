"""The types of columns: found in text, or as the user said."""

from __future__ import annotations

import re
from typing import Any

from trainyard.sdk.errors import UserErrorException

_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$|\d{1,2}/\d{1,2}/\d{4}( .*)?$"
)


_LOOKED_AT = 100  # values of a column, before all of it is taken for times


def times_found(pandas: Any, frame: Any, reader: dict[str, Any]) -> Any:
    """Text columns whose values are all times become times, unless the user said what they are."""
    for name in frame.columns:
        column = frame[name]
        if name in reader["types"] or not pandas.api.types.is_string_dtype(column):
            continue
        values = column.dropna()
        if not len(values) or not all(isinstance(it, str) and _TIME.match(it) for it in values.iloc[:_LOOKED_AT]):
            continue
        found = pandas.to_datetime(column, errors="coerce", format="mixed", utc=True).dt.tz_localize(None)
        if found.notna().sum() == len(values):
            frame[name] = found
    return frame


def typed(pandas: Any, frame: Any, reader: dict[str, Any], *, strict: bool) -> Any:
    errors = "raise" if strict else "coerce"
    for name, said in reader.get("types", {}).items():
        if name not in frame.columns:
            continue
        column, formats = frame[name], said["formats"]
        try:
            frame[name] = _converted(pandas, column, said["kind"], formats, errors)
        except (ValueError, TypeError) as error:
            raise UserErrorException(
                f"Column {name!r} has values that are no {said['kind']}: {error}. on_error='null' makes them null."
            ) from error
    return frame


def _converted(pandas: Any, column: Any, kind: str, formats: list[str] | None, errors: str) -> Any:
    if kind == "string":
        return column.astype("object").where(column.isna(), column.astype(str))
    if kind == "datetime":
        found = None
        for form in formats or [""]:
            how = {"format": form} if form else {"format": "mixed"}
            part = pandas.to_datetime(column, errors="coerce" if formats else errors, utc=True, **how).dt.tz_localize(
                None
            )
            found = part if found is None else found.fillna(part)
        if errors == "raise" and found is not None and found.isna().sum() > column.isna().sum():
            raise ValueError(f"none of the formats {formats} fits some values")
        return found
    if kind == "bool":
        words = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
        return column.map(lambda value: None if pandas.isna(value) else words.get(str(value).strip().lower()))
    if kind == "float" and formats and formats[0] != ".":
        column = column.astype(str).str.replace(formats[0], ".", regex=False)
    numbers = pandas.to_numeric(column, errors=errors)
    if kind == "float":
        return numbers.astype("float64")
    return numbers.astype("int64") if numbers.notna().all() else numbers.astype("Int64")
