"""Delimited text, read. What a column is of is found over all files, not in each for itself."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from trainyard.sdk.data.tabular_plan import Plan
from trainyard.sdk.data.tabular_types import kind_of, null_words_dropped, times_found
from trainyard.sdk.errors import UserErrorException

if TYPE_CHECKING:
    from trainyard.blobs.depots.resolve import Entry

_TEXT = {"kind": "string", "formats": None}


@dataclass(frozen=True)
class Part:
    """The rows of one file that are asked for, and all columns that the file has."""

    entry: Entry
    frame: Any
    columns: list[str]


def read_delimited(
    pandas: Any, reader: dict[str, Any], plan: Plan, files: Iterable[Sequence[tuple[Entry, str]]]
) -> list[Part]:
    parts: list[Part] = []
    paths: list[str] = []
    left = plan.rows
    for entry, path in chain.from_iterable(files):
        parts.append(_read(pandas, reader, plan, entry, path, left, parts))
        paths.append(path)
        if left is not None and (left := left - len(parts[-1].frame)) <= 0:
            break
    if several := _of_several_kinds(parts):
        # numbers in one file and text in another are text in both, as they are written there
        as_text = {**reader, "types": {**reader["types"], **dict.fromkeys(several, _TEXT)}}
        again: list[Part] = []
        for part, path in zip(parts, paths, strict=True):
            again.append(_read(pandas, as_text, plan, part.entry, path, len(part.frame), again))
        parts = again
    if reader["empty_as_string"]:
        _fill_text(parts, reader)
    return parts


def _read(
    pandas: Any, reader: dict[str, Any], plan: Plan, entry: Entry, path: str, rows: int | None, before: list[Part]
) -> Part:
    header = reader["header"]
    has_header = header in ("ALL_FILES_HAVE_SAME_HEADERS", "COMBINE_ALL_FILES_HEADERS") or (
        header == "ONLY_FIRST_FILE_HAS_HEADERS" and not before
    )
    names = before[0].columns if before and not has_header else None
    columns: list[str] = []
    options = _options(reader, entry.path)
    try:
        columns = _columns(pandas, path, options, names, has_header=has_header)
        if not has_header:
            options |= {"header": None, "names": columns}
        chosen = None if plan.columns is None else [it for it in columns if it in plan.columns]
        if chosen == []:
            chosen = columns[:1]  # the rows are counted all the same
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)  # values would be left out
            frame = pandas.read_csv(path, nrows=rows, usecols=chosen, **options)
    except pandas.errors.EmptyDataError:
        columns = names or []
        frame = pandas.DataFrame(columns=columns)
    except pandas.errors.ParserWarning as error:
        raise UserErrorException(
            f"{entry.path} has rows of more values than the {len(columns)} columns of its header. Check separator and "
            "header."
        ) from error
    except (pandas.errors.ParserError, UnicodeError) as error:
        said = str(error).strip().rstrip(".")
        raise UserErrorException(
            f"{entry.path} cannot be read as delimited text: {said}. Check separator, encoding and header."
        ) from error
    frame.columns = [str(column) for column in frame.columns]
    if reader["infer"]:
        frame = times_found(pandas, null_words_dropped(pandas, frame, reader), reader)
    return Part(entry, frame, columns)


def _options(reader: dict[str, Any], name: str) -> dict[str, Any]:
    by_line = reader["separator"] in ("\n", "\r\n")  # each line is one value: nothing in it separates or quotes
    by_one = by_line or len(reader["separator"]) == 1
    said = dict.fromkeys(reader["types"], str)  # from the text, which has the zeros that a number begins with
    return {
        "sep": "\x1f" if by_line else reader["separator"] if by_one else re.escape(reader["separator"]),
        "quoting": csv.QUOTE_NONE if by_line else csv.QUOTE_MINIMAL,
        "encoding": reader["encoding"],
        "header": 0,
        "compression": "gzip" if name.endswith(".gz") else "infer",
        "engine": "c" if by_one else "python",
        "dtype": said if reader["infer"] else str,
        "index_col": False,  # else a row of one value too many would move every value into the column before its own
        "keep_default_na": False,  # a text may be 'NA' or 'None'; see null_words_dropped
        "na_values": [""],
        # else a large file's column may come out as numbers in some of its rows and text in others
        **({"low_memory": False} if by_one else {}),
    }


def _columns(
    pandas: Any, path: str, options: dict[str, Any], names: list[str] | None, *, has_header: bool
) -> list[str]:
    if has_header:
        return [str(it) for it in pandas.read_csv(path, nrows=0, **options).columns]
    width = len(pandas.read_csv(path, nrows=1, **{**options, "header": None}).columns)
    return names or [f"Column{number}" for number in range(1, width + 1)]


def _of_several_kinds(parts: Sequence[Part]) -> list[str]:
    """Columns that are text in some files and something else in others."""
    kinds: dict[str, set[str]] = {}
    for part in parts if len(parts) > 1 else ():
        for name in part.frame.columns:
            if (kind := kind_of(part.frame[name])) is not None:
                kinds.setdefault(name, set()).add(kind)
    return [name for name, found in kinds.items() if len(found) > 1]


def _fill_text(parts: Sequence[Part], reader: dict[str, Any]) -> None:
    """What is empty is a text of no letters, except in columns of numbers and times."""
    spoken_for = {name for name, said in reader["types"].items() if said["kind"] != "string"}
    other = {
        name for part in parts for name in part.frame.columns if kind_of(part.frame[name]) not in (None, "text")
    } | spoken_for
    for part in parts:
        for name in part.frame.columns:
            if name not in other:
                part.frame[name] = part.frame[name].astype("object").fillna("")
