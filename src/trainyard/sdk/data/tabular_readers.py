"""Tables out of files and databases, with what of the steps can be done on the way."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import DatasetDefinition
from trainyard.sdk.data.tabular_plan import Plan, columns_in, have_names, wanted
from trainyard.sdk.data.tabular_sources import files_here, wanted_entries
from trainyard.sdk.data.tabular_types import times_found
from trainyard.sdk.errors import UserErrorException, sdk_errors

if TYPE_CHECKING:
    from trainyard.blobs.depots.resolve import Entry
    from trainyard.sdk.workspace import Workspace

    Parts = Iterable[Sequence[tuple[Entry, str]]]  # see tabular_sources.files_here


def read(pandas: Any, definition: DatasetDefinition, workspace: Workspace | None, plan: Plan) -> Any:
    form = definition.reader["format"]
    if form == "sql":
        return _read_query(pandas, definition, workspace, plan)
    from trainyard.sdk.data.data_here import cache, entries_of

    with sdk_errors():
        entries = wanted_entries(entries_of(definition, workspace), definition, plan)
        with files_here(cache(), entries, plan) as parts:
            return _READERS[form](pandas, definition, plan, parts)


def _read_parquet(pandas: Any, definition: DatasetDefinition, plan: Plan, parts: Parts) -> Any:
    datasets, arrow = wanted("pyarrow.dataset"), wanted("pyarrow")
    columns = None if plan.columns is None else [it for it in plan.columns if it not in _made_columns(definition)]
    frames, left = [], plan.rows
    for group in ([file] for part in parts for file in part) if _made_columns(definition) else parts:
        try:
            table = datasets.dataset([path for _, path in group], format="parquet")
            schema = arrow.unify_schemas([part.physical_schema for part in table.get_fragments()])
            table = table.replace_schema(schema)
            have_names(schema.names, [*(columns or ()), *_conditions_on(plan, definition), *_typed_columns(definition)])
            condition = _arrow_condition(datasets, arrow, schema, plan, definition)
            if left is not None and condition is None:
                found = table.head(left, columns=columns)
            else:
                found = table.to_table(columns=columns, filter=condition)
        except arrow.ArrowInvalid as error:
            raise UserErrorException(
                f"{group[0][0].path} is not a Parquet file, or a damaged one ({str(error).splitlines()[0]}). Check the "
                "path; delimited text is read with from_delimited_files."
            ) from error
        frame = _with_made_columns(found.to_pandas(), definition, group[0][0])
        frames.append(frame)
        if left is not None and not plan.conditions:
            left -= len(frame)
            if left <= 0:
                break
    return pandas.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def _read_delimited(pandas: Any, definition: DatasetDefinition, plan: Plan, files: Parts) -> Any:
    from trainyard.sdk.data.tabular_delimited import read_delimited

    parts = read_delimited(pandas, definition.reader, plan, files)
    known = dict.fromkeys(chain(_made_columns(definition), *(part.columns for part in parts)))
    have_names(known, [*(plan.columns or ()), *_typed_columns(definition)])
    frames = [_with_made_columns(part.frame, definition, part.entry) for part in parts]
    return pandas.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def _read_json_lines(pandas: Any, definition: DatasetDefinition, plan: Plan, parts: Parts) -> Any:
    import gzip
    import json

    reader, frames, left = definition.reader, [], plan.rows
    for entry, path in chain.from_iterable(parts):
        records: list[dict[str, Any]] = []
        opened = gzip.open if entry.path.endswith(".gz") else open
        with opened(path, "rt", encoding=reader["encoding"]) as lines:
            for number, line in enumerate(lines, 1):
                if left is not None and len(records) >= left:
                    break
                try:
                    record = json.loads(line) if line.strip() else None
                    if record is not None and not isinstance(record, dict):
                        raise ValueError("it is no JSON object")
                except ValueError as error:
                    if reader["invalid_lines"] == "drop":
                        continue
                    raise UserErrorException(
                        f"Line {number} of {entry.path} is not a JSON object ({error}). Correct it, or pass "
                        "invalid_lines='drop'."
                    ) from error
                if record is not None:
                    records.append(record)
        frame = pandas.DataFrame.from_records(records)
        for name in set(reader["types"]) & set(frame.columns):
            # as it is written: whole numbers beside a null would be read as numbers with a fraction
            frame[name] = pandas.Series([record.get(name) for record in records], dtype="object")
        frame = times_found(pandas, frame, reader)
        frames.append(_with_made_columns(frame, definition, entry))
        if left is not None and (left := left - len(frame)) <= 0:
            break
    return pandas.concat(frames, ignore_index=True)


def _read_query(pandas: Any, definition: DatasetDefinition, workspace: Workspace | None, plan: Plan) -> Any:
    import base64

    if workspace is None:
        raise UserErrorException("This query is of no workspace here. Get the dataset from its workspace.")
    store = str(definition.sources[0].datastore)
    answer = workspace._clients.data.query(store, definition.reader["query"], plan.rows)
    columns: dict[str, Any] = {}
    for name, kind, values in zip(answer.columns, answer.kinds, answer.values, strict=True):
        if kind == "time":
            columns[name] = pandas.to_datetime(pandas.Series(values), format="ISO8601")
        elif kind == "bytes":
            columns[name] = [None if value is None else base64.b64decode(value) for value in values]
        else:
            columns[name] = values
    return pandas.DataFrame(columns)


_READERS: dict[str, Callable[..., Any]] = {
    "parquet": _read_parquet,
    "delimited": _read_delimited,
    "json_lines": _read_json_lines,
}


def _made_columns(definition: DatasetDefinition) -> list[str]:
    """Columns that come from a file's path."""
    from trainyard.sdk.data.partitions import keys_of

    path = ["Path"] if definition.reader.get("include_path") else []
    return path + keys_of(definition.traits.get("partition_format"))


def _typed_columns(definition: DatasetDefinition) -> set[str]:
    """Columns that must be there, because the user said what they are."""
    return set(definition.reader.get("types", {})) - set(_made_columns(definition))


def _with_made_columns(frame: Any, definition: DatasetDefinition, entry: Entry) -> Any:
    from trainyard.sdk.data.partitions import values_of

    if form := definition.traits.get("partition_format"):
        for name, value in values_of(form, entry.file.path).items():
            frame[name] = value
    if definition.reader.get("include_path"):
        frame.insert(0, "Path", f"/{entry.path}")
    return frame


def _conditions_on(plan: Plan, definition: DatasetDefinition) -> set[str]:
    return {name for step in plan.conditions for name in columns_in(step)} - set(_made_columns(definition))


def _arrow_condition(datasets: Any, arrow: Any, schema: Any, plan: Plan, definition: DatasetDefinition) -> Any:
    """The conditions that Parquet's own statistics can decide: simple comparisons of a column that is read as it is."""
    typed = set(definition.reader.get("types", {})) | set(_made_columns(definition))
    found = None
    for step in plan.conditions:
        if columns_in(step) & typed:
            continue
        part = _arrow_step(datasets, arrow, schema, step)
        if part is not None:
            found = part if found is None else found & part
    return found


def _arrow_step(datasets: Any, arrow: Any, schema: Any, step: dict[str, Any]) -> Any:
    if step["op"] == "time" or not isinstance(step["expression"], list):
        return None
    op, *parts = step["expression"]
    if op not in ("gt", "ge", "lt", "le", "eq") or not isinstance(parts[0], list) or parts[0][0] != "column":
        return None
    kind = schema.field(parts[0][1]).type
    fits = (arrow.types.is_integer(kind) or arrow.types.is_floating(kind)) and isinstance(parts[1], int | float)
    fits = fits or (arrow.types.is_string(kind) and isinstance(parts[1], str))
    return getattr(operator, op)(datasets.field(parts[0][1]), parts[1]) if fits else None
