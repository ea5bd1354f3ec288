"""What of a table's steps can be done while it is read, and what every part of reading tables needs."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from trainyard.contract.data import DatasetDefinition
from trainyard.sdk.errors import UserErrorException


def wanted(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserErrorException(
            f"Reading tables needs {name.partition('.')[0]}, which is not installed here. Add pandas and pyarrow to "
            "the environment (azureml-dataset-runtime[pandas] means both)."
        ) from error


@dataclass(frozen=True)
class Plan:
    """What of a definition's steps is done while reading."""

    columns: tuple[str, ...] | None  # None: all
    rows: int | None  # None: all
    conditions: tuple[dict[str, Any], ...]  # filters that Parquet may apply early; they are applied again afterwards

    @property
    def is_short(self) -> bool:
        """A few rows, and the first ones: not all files need be read."""
        return self.rows is not None and not self.conditions


def plan_of(definition: DatasetDefinition) -> Plan:
    """Pure. `keep` limits the columns to what it names and what the steps before it look at."""
    used: set[str] = set()
    columns: tuple[str, ...] | None = None
    rows: int | None = None
    skipped, counting = 0, True
    conditions: list[dict[str, Any]] = []
    only_cuts = True  # so far rows were chosen by their content alone
    for step in definition.steps:
        op = step["op"]
        if op == "keep" and columns is None:
            columns = tuple(dict.fromkeys([*step["columns"], *sorted(used)]))
        elif op in ("filter", "time"):
            counting = False
            if columns is None:
                used |= columns_in(step)
            if only_cuts:
                conditions.append(step)
        elif op == "skip":
            only_cuts = False
            skipped += step["count"] if counting else 0
        elif op == "take":
            only_cuts = False
            if counting:
                rows = skipped + step["count"] if rows is None else min(rows, skipped + step["count"])
        elif op in ("sample", "split"):
            counting = only_cuts = False
    return Plan(columns, rows, tuple(conditions))


def columns_in(step: dict[str, Any]) -> set[str]:
    if step["op"] == "time":
        return {step["column"]}
    found: set[str] = set()

    def look(said: Any) -> None:
        if isinstance(said, list) and said:
            if said[0] == "column":
                found.add(said[1])
            for part in said[1:]:
                look(part)

    look(step["expression"])
    return found


def have(frame: Any, columns: Any) -> None:
    have_names([str(name) for name in frame.columns], columns)


def have_names(names: Any, columns: Any) -> None:
    if missing := [name for name in columns if name not in names]:
        raise UserErrorException(
            f"There is no column {missing[0]!r}. The columns are {', '.join(map(repr, list(names)[:50])) or 'none'}."
        )
