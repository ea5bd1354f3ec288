"""Tape cells to columns, columns to chunks, chunks to values. Pure.

A chunk is a header (version, the kind all its values have or 0, whether steps follow, the count) and then the columns
times, steps, values (8 raw bytes each) and kinds, little-endian; steps and kinds are left out where they say nothing.
A text's value is its length in bytes; the texts themselves lie one behind the other in the chunk's side blob.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trainyard.contract.tape import BOOL, CELL, CONT, DESCRIPTION, FLOAT, INT, JSON, NAME, NO_STEP, NONE, TEXT

Ints = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]

MAX_NAME = 512  # characters; a database's index has its limits
_CELLS = np.dtype(
    [("kind", "u1"), ("_", "u1"), ("more", "<u2"), ("name", "<u4"), ("step", "<i8"), ("time", "<i8"), ("value", "<i8")]
)
_HEADER = struct.Struct("<BBBxI")
_VERSION = 1


@dataclass(frozen=True)
class Columns:
    """Values of one metric in the order they arrived. `values` are the 8 bytes as they were on the tape."""

    times: Ints
    steps: Ints
    values: Ints
    kinds: Kinds
    texts: bytes = b""

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class Decoded:
    """What a batch of cells holds: `end` bytes of it are whole records, `names` what it adds to the stream's table."""

    end: int
    names: dict[int, str] = field(default_factory=dict)
    metrics: dict[str, Columns] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)


def decode(cells: bytes, known: dict[int, str]) -> Decoded:
    """All whole records of `cells`, sorted by metric. `known` is the stream's name table so far.

    Cells that belong to no record (a kind of a newer version, a piece of a record that was never finished, a number
    without a name) are passed over: a damaged cell must not hold up a stream for ever.
    """
    table = np.frombuffer(cells, dtype=_CELLS, count=len(cells) // CELL)
    end = _whole(table)
    table = table[:end]
    kinds = np.ascontiguousarray(table["kind"])
    long = _long_records(cells, table, kinds)
    names = {at: text.decode("utf-8", "replace") for at, text in long.items() if kinds[at] == NAME}
    plain = (kinds >= FLOAT) & (kinds <= NONE)
    described = kinds == DESCRIPTION
    plain[[at for at in long if at not in names and not described[at]]] = True
    points = np.flatnonzero(plain)
    by_name = _by_name(points, table["name"][points], table["name"], names, known)
    metrics = {name: _columns(table, kinds, where, long) for name, where in by_name.items()}
    added = {int(table["name"][at]): _clean_name(name) for at, name in names.items()}
    told = np.array([at for at in long if described[at]], dtype=np.int64)
    by_name = _by_name(told, table["name"][told], table["name"], names, known)
    descriptions = {name: long[int(where[-1])].decode("utf-8", "replace") for name, where in by_name.items()}
    return Decoded(end * CELL, added, metrics, descriptions)


def pack(columns: Columns) -> bytes:
    """The chunk's data (its side blob is `columns.texts`)."""
    uniform = int(columns.kinds[0]) if len(columns) and (columns.kinds == columns.kinds[0]).all() else 0
    with_steps = bool((columns.steps != NO_STEP).any())
    parts = [_HEADER.pack(_VERSION, uniform, with_steps, len(columns)), columns.times.tobytes()]
    if with_steps:
        parts.append(columns.steps.tobytes())
    parts.append(columns.values.tobytes())
    if not uniform:
        parts.append(columns.kinds.tobytes())
    return b"".join(parts)


def unpack(data: bytes, texts: bytes | None) -> Columns:
    version, uniform, with_steps, count = _HEADER.unpack_from(data)
    assert version == _VERSION, f"a metric chunk of version {version}"
    at = _HEADER.size
    times = np.frombuffer(data, "<i8", count, at)
    at += 8 * count
    if with_steps:
        steps = np.frombuffer(data, "<i8", count, at)
        at += 8 * count
    else:
        steps = np.full(count, NO_STEP, "<i8")
    values = np.frombuffer(data, "<i8", count, at)
    at += 8 * count
    kinds = np.full(count, uniform, "u1") if uniform else np.frombuffer(data, "u1", count, at)
    return Columns(times, steps, values, kinds, texts or b"")


def join(parts: Sequence[Columns]) -> Columns:
    """One behind the other."""
    if len(parts) == 1:
        return parts[0]
    return Columns(
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.kinds for part in parts]),
        b"".join(part.texts for part in parts),
    )


def cut(columns: Columns, most: int) -> list[Columns]:
    """`columns` in pieces of at most `most` values."""
    if len(columns) <= most:
        return [columns]
    lengths = np.where(_is_text(columns.kinds), columns.values, 0)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    pieces = []
    for at in range(0, len(columns), most):
        to = min(at + most, len(columns))
        span = slice(at, to)
        texts = columns.texts[int(ends[at]) : int(ends[to])]
        pieces.append(
            Columns(columns.times[span], columns.steps[span], columns.values[span], columns.kinds[span], texts)
        )
    return pieces


def in_time_order(columns: Columns) -> tuple[list[Any], list[int | None], list[int]]:
    """Values as they were logged, steps and times; sorted by time, equal times in the order of arrival."""
    values, steps = _plain_values(columns), _plain_steps(columns.steps)
    times = columns.times.tolist()
    if len(columns) < 2 or bool((columns.times[1:] >= columns.times[:-1]).all()):
        return values, steps, times
    order = np.argsort(columns.times, kind="stable").tolist()
    return [values[at] for at in order], [steps[at] for at in order], [times[at] for at in order]


def of_numbers(points: Sequence[tuple[int, int | None, float]]) -> Columns:
    """(time, step, value), in the order they came. A name takes each once: who says a thing twice means it once."""
    points = list(dict.fromkeys(points))
    return Columns(
        np.array([time for time, _, _ in points], "<i8"),
        np.array([NO_STEP if step is None else step for _, step, _ in points], "<i8"),
        np.array([value for _, _, value in points], "<f8").view("<i8"),
        np.full(len(points), FLOAT, "u1"),
    )


def unseen(columns: Columns, among: Columns | None) -> Columns:
    """Those of `columns` (numbers) that are not in `among`, bit for bit."""
    if among is None:
        return columns
    seen = set(zip(among.times.tolist(), among.steps.tolist(), among.values.tolist(), strict=True))
    rows = zip(columns.times.tolist(), columns.steps.tolist(), columns.values.tolist(), strict=True)
    new = np.array([row not in seen for row in rows], dtype=bool)
    return Columns(columns.times[new], columns.steps[new], columns.values[new], columns.kinds[new])


def numbers(columns: Columns) -> npt.NDArray[np.float64]:
    """Every value as a float; NaN where it is not a number."""
    floats: npt.NDArray[np.float64] = columns.values.view("<f8")
    if bool((columns.kinds == FLOAT).all()):
        return floats
    whole = (columns.kinds == INT) | (columns.kinds == BOOL)
    return np.where(columns.kinds == FLOAT, floats, np.where(whole, columns.values.astype("<f8"), np.nan))


def text_at(columns: Columns, at: int) -> str:
    """The text (or JSON source) that is value `at`."""
    start = int(columns.values[:at][_is_text(columns.kinds[:at])].sum())
    return columns.texts[start : start + int(columns.values[at])].decode("utf-8", "replace")


def _whole(table: npt.NDArray[Any]) -> int:
    """How many leading cells are whole records: only the last record can be cut short."""
    at = len(table) - 1
    while at >= 0 and table["kind"][at] == CONT:
        at -= 1
    complete = at < 0 or at + 1 + int(table["more"][at]) <= len(table)
    return len(table) if complete else at


def _long_records(cells: bytes, table: npt.NDArray[Any], kinds: Kinds) -> dict[int, bytes]:
    """Position → bytes of each name, description, text and JSON source."""
    found: dict[int, bytes] = {}
    for at in np.flatnonzero((kinds == NAME) | (kinds == DESCRIPTION) | _is_text(kinds)).tolist():
        more, length = int(table["more"][at]), int(table["value"][at])
        body = cells[(at + 1) * CELL : (at + 1 + more) * CELL]
        if len(body) == more * CELL and body[::CELL] == b"\xff" * more and 0 <= length <= more * (CELL - 1):
            pieces = [body[start + 1 : start + CELL] for start in range(0, len(body), CELL)]
            found[at] = b"".join(pieces)[:length]
    return found


def _by_name(
    points: Ints,
    numbers_: npt.NDArray[Any],
    all_numbers: npt.NDArray[Any],
    names: dict[int, str],
    known: dict[int, str],
) -> dict[str, Ints]:
    """Metric name → positions of its values. A number means what the last NAME before it said."""
    said: dict[int, list[tuple[int, str]]] = {number: [(-1, name)] for number, name in known.items()}
    for at, name in sorted(names.items()):
        said.setdefault(int(all_numbers[at]), []).append((at, _clean_name(name)))
    found: dict[str, list[Ints]] = {}
    for number, where in _groups(points, numbers_):
        meanings = said.get(number, [])
        cuts = [*np.searchsorted(where, [at for at, _ in meanings]).tolist(), len(where)]
        for (_, name), start, stop in zip(meanings, cuts, cuts[1:], strict=False):
            if stop > start:
                found.setdefault(name, []).append(where[start:stop])
    return {
        name: parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts), kind="stable")
        for name, parts in found.items()
    }


def _groups(points: Ints, numbers_: npt.NDArray[Any]) -> list[tuple[int, Ints]]:
    if not len(points):
        return []
    if bool((numbers_ == numbers_[0]).all()):
        return [(int(numbers_[0]), points)]
    if numbers_.max() < 1 << 16:
        numbers_ = numbers_.astype("u2")  # 16 bits sort in linear time
    order = np.argsort(numbers_, kind="stable")
    ordered = numbers_[order]
    starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [len(ordered)]])
    return [
        (int(ordered[start]), points[order[start:stop]])
        for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]


def _columns(table: npt.NDArray[Any], kinds: Kinds, where: Ints, long: dict[int, bytes]) -> Columns:
    # A run of neighbours is a slice: several times quicker than picking.
    picked = slice(int(where[0]), int(where[-1]) + 1) if where[-1] - where[0] + 1 == len(where) else where
    taken, own_kinds = table[picked], kinds[picked]
    texts = b""
    if long and bool(_is_text(own_kinds).any()):
        texts = b"".join(long[at] for at in where[_is_text(own_kinds)].tolist())
    return Columns(
        np.ascontiguousarray(taken["time"]),
        np.ascontiguousarray(taken["step"]),
        np.ascontiguousarray(taken["value"]),
        own_kinds,
        texts,
    )


def _clean_name(name: str) -> str:
    """As a database can index it."""
    return name[:MAX_NAME].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _is_text(kinds: Kinds) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (kinds == TEXT) | (kinds == JSON)
    return found


def _plain_values(columns: Columns) -> list[Any]:
    kinds = columns.kinds
    first = int(kinds[0]) if len(kinds) else FLOAT
    if first in (FLOAT, INT) and bool((kinds == first).all()):
        plain: list[Any] = (columns.values.view("<f8") if first == FLOAT else columns.values).tolist()
        return plain
    found: list[Any] = [None] * len(kinds)
    floats = columns.values.view("<f8")
    at_text = 0
    for at, (kind, raw) in enumerate(zip(kinds.tolist(), columns.values.tolist(), strict=True)):
        if kind == FLOAT:
            found[at] = float(floats[at])
        elif kind == INT:
            found[at] = raw
        elif kind == BOOL:
            found[at] = bool(raw)
        elif kind in (TEXT, JSON):
            text = columns.texts[at_text : at_text + raw].decode("utf-8", "replace")
            at_text += raw
            found[at] = _parsed(text) if kind == JSON else text
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # cut at the tape's limit: better shown as it is than lost
        return text


def _plain_steps(steps: Ints) -> list[int | None]:
    given = steps != NO_STEP
    if not bool(given.any()):
        return [None] * len(steps)
    plain: list[int | None] = steps.tolist()
    if not bool(given.all()):
        for at in np.flatnonzero(~given).tolist():
            plain[at] = None
    return plain
