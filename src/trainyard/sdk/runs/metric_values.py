"""What a metric's value may be, and how what was logged is given back. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import GeneratorType
from typing import Any

from trainyard.contract.metrics import MetricSeries
from trainyard.sdk.effects import note_once
from trainyard.sdk.errors import AzureMLException, UserErrorException

_NUMPY_SCALARS = frozenset(
    ["bool", "bool_", "str_", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "float64"]
)
_LONGEST_JSON = 1_000_000  # well below what a tape record holds
_LONGEST_TEXT = 500_000  # characters; in UTF-8 four times as many bytes at most


def scalar(value: Any, what: str) -> Any:
    """An int, float, bool, str or None; anything else becomes its repr(), as in the SDK."""
    kind = type(value)
    if kind in (int, float, bool) or value is None:
        return value
    if kind is str:
        return _cut(value, what)
    if kind.__module__ == "numpy" and kind.__name__ in _NUMPY_SCALARS:
        return value.item()
    if isinstance(value, bool | int | float | str) and kind.__module__ != "numpy":
        for base in (bool, int, float, str):
            if isinstance(value, base):
                return base(value)
    note_once(
        f"{what}: a {kind.__module__}.{kind.__qualname__} is not a number or text and is kept as its repr(). "
        "Log float(value) or int(value) to have it in charts."
    )
    return _cut(repr(value), what)


def _cut(text: str, what: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    note_once(
        f"{what}: a text of {len(text):,} characters is no metric; its first {_LONGEST_TEXT:,} are kept. "
        "run.upload_file(...) keeps all of it."
    )
    return text[:_LONGEST_TEXT]


def artifact_json(file: str, kind: str) -> str:
    """A metric whose value is a file of the run."""
    return json.dumps({"artifact": file, "kind": kind})


def check_single(name: str, value: Any) -> None:
    if isinstance(value, list | range | GeneratorType):
        raise UserErrorException(
            f"run.log({name!r}, ...) takes one value, not a {type(value).__name__}. Use run.log_list({name!r}, values)."
        )


def list_values(name: str, value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise UserErrorException(f"run.log_list({name!r}, ...) takes a list, not a {type(value).__name__}.")
    return [scalar(item, name) for item in value]


def row_json(name: str, columns: Mapping[str, Any]) -> str:
    cells = {column: [scalar(value, f"{name}.{column}")] for column, value in columns.items()}
    return _fitting(name, cells, lambda cut: {"row": {column: cell for column, [cell] in cut.items()}})


def table_jsons(name: str, value: Any) -> list[str]:
    """The table as records, more than one where it is very long."""
    if not isinstance(value, Mapping):
        raise UserErrorException(f"run.log_table({name!r}, ...) takes a dict of columns, not a {type(value).__name__}.")
    columns = {str(column): _column(f"{name}.{column}", cells) for column, cells in value.items()}
    if len({len(cells) for cells in columns.values()}) > 1:
        lengths = ", ".join(f"{column}: {len(cells)}" for column, cells in columns.items())
        raise AzureMLException(f"The columns of table {name!r} differ in length ({lengths}). Make them equally long.")
    return list(_split(columns))


def collapsed(series: Iterable[MetricSeries], shown: Callable[[str], Any] = str) -> dict[str, Any]:
    """What get_metrics() answers: a name logged once is a scalar, rows and tables are columns, a file is what `shown`
    makes of its name."""
    return {one.name: _collapsed(list(one.values), shown) for one in series if one.values}


def _collapsed(values: list[Any], shown: Callable[[str], Any]) -> Any:
    values = [shown(value["artifact"]) if _is_artifact(value) else value for value in values]
    parts = [_columns(value) for value in values]
    if any(part is None for part in parts):
        return values[0] if len(values) == 1 else values
    columns: dict[str, list[Any]] = {}
    for part in parts:
        for column, cells in (part or {}).items():
            columns.setdefault(column, []).extend(cells)
    if all(len(cells) == 1 for cells in columns.values()) and len(parts) == 1:
        return {column: cells[0] for column, cells in columns.items()}
    return columns


def _is_artifact(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("artifact"), str) and value.keys() == {"artifact", "kind"}


def _columns(value: Any) -> dict[str, list[Any]] | None:
    """The columns of a logged row or table; None for a plain value."""
    if isinstance(value, dict) and isinstance(value.get("row"), dict):
        return {column: [cell] for column, cell in value["row"].items()}
    if isinstance(value, dict) and isinstance(value.get("table"), dict):
        return {column: list(cells) for column, cells in value["table"].items()}
    return None


def _column(what: str, cells: Any) -> list[Any]:
    if isinstance(cells, str | bytes) or not isinstance(cells, Iterable):
        return [scalar(cells, what)]
    return [scalar(cell, what) for cell in cells]


def _split(columns: dict[str, list[Any]]) -> Iterable[str]:
    text = json.dumps({"table": columns})
    rows = max(map(len, columns.values()), default=0)
    if len(text) <= _LONGEST_JSON or rows < 2:
        yield text if len(text) <= _LONGEST_JSON else _fitting("a table", columns, lambda cut: {"table": cut})
        return
    yield from _split({column: cells[: rows // 2] for column, cells in columns.items()})
    yield from _split({column: cells[rows // 2 :] for column, cells in columns.items()})


def _fitting(what: str, columns: dict[str, list[Any]], shaped: Callable[[dict[str, list[Any]]], Any]) -> str:
    """The JSON, with its texts cut as far as it takes to fit into a record."""
    text, most = json.dumps(shaped(columns)), _LONGEST_TEXT
    while len(text) > _LONGEST_JSON and most > 1:
        most //= 4
        columns = {
            column[:most]: [cell[:most] if isinstance(cell, str) else cell for cell in cells]
            for column, cells in columns.items()
        }
        text = json.dumps(shaped(columns))
        note_once(f"{what}: its texts are too long for a metric and are cut. run.upload_file(...) keeps all of it.")
    return text
