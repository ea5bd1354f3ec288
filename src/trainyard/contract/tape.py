"""The metric tape: an append-only file of 32-byte cells, one per process that logs.

A cell is `kind, _, more, name, step, time, value`. Numbers take one cell. What is longer (a metric's name, a text, a
table) takes a head cell, whose value is its length in bytes and `more` the number of cells that follow, and those
cells hold 31 bytes each behind a CONT mark, so a reader can tell every cell's kind without walking the tape. Each
record is one `write` to a file opened for append: a killed process loses nothing it logged, and threads do not mix.

Times are those of the moment the tape was begun plus what has passed since on a clock that nobody sets: when a
machine's clock is put right, or wrong, in the middle of a training, its values keep their order.
"""

from __future__ import annotations

import _thread
import os
import struct
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

CELL = 32
NO_STEP = -(1 << 63)

NAME, FLOAT, INT, BOOL, NONE, TEXT, JSON, DESCRIPTION, CONT = 1, 2, 3, 4, 5, 6, 7, 8, 255

_FLOAT = struct.Struct("<BBHIqqd")
_INT = struct.Struct("<BBHIqqq")
_PER_CELL = CELL - 1
MAX_TEXT = 65_535 * _PER_CELL

_pack_float = _FLOAT.pack
_pack_int = _INT.pack

_passed_ns = time.clock_gettime_ns
_SET_NS = 1_000_000  # a larger difference is no error of measurement
_known_epoch_ns = 0
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # the first counts a laptop's sleep, too


class TapeWriter:
    """Appends to one tape. Methods return False when the disk refused the record, or some of several; they never raise
    for that."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._names: dict[str, int] = {}
        self._defining = _thread.allocate_lock()  # two threads must not give one number to two names
        self._epoch_ns = _epoch()

    def number(self, name: str, value: float, step: int = NO_STEP) -> bool:
        """One float: the call that sits inside training loops."""
        number = self._names.get(name) or self._define(name)
        return number > 0 and self._write(
            _pack_float(FLOAT, 0, 0, number, step, self._epoch_ns + _passed_ns(_STEADY), value)
        )

    def values(self, name: str, values: list[Any], step: int = NO_STEP) -> bool:
        """Scalars (float, int, bool, None, str) under one name, as one record each, in one write."""
        number = self._names.get(name) or self._define(name)
        now = self._now()
        return number > 0 and self._write(b"".join(_scalar(value, number, step, now) for value in values))

    def point(self, name: str, value: float, step: int, time_ns: int) -> bool:
        """One float with the time it was measured at, somewhere else."""
        number = self._names.get(name) or self._define(name)
        return number > 0 and self._write(_pack_float(FLOAT, 0, 0, number, step, time_ns, value))

    def json(self, name: str, text: str, step: int = NO_STEP) -> bool:
        number = self._names.get(name) or self._define(name)
        return number > 0 and self._write(_long(JSON, number, step, self._now(), text))

    def describe(self, name: str, text: str) -> bool:
        """What a metric is, in words; the last that was said counts."""
        number = self._names.get(name) or self._define(name)
        return number > 0 and self._write(_long(DESCRIPTION, number, NO_STEP, self._now(), text))

    def close(self) -> None:
        os.close(self._fd)

    def _now(self) -> int:
        return self._epoch_ns + _passed_ns(_STEADY)

    def _define(self, name: str) -> int:
        """The name's number, once the name is on the tape; 0 when the disk refused it."""
        with self._defining:
            if name not in self._names:
                number = len(self._names) + 1
                if not self._write(_long(NAME, number, NO_STEP, self._now(), name)):
                    return 0
                self._names[name] = number
            return self._names[name]

    def _write(self, record: bytes) -> bool:
        try:
            written = os.write(self._fd, record)
            if written != len(record):
                # A disk that filled up in the middle. What is torn is taken back; of several records those that are
                # whole stay: a reader may have them already, and would miss as much of what is written in their place.
                torn = written - whole_cells(record[:written])
                os.ftruncate(self._fd, os.fstat(self._fd).st_size - torn)
                return False
        except OSError:
            return False
        return True


def _epoch() -> int:
    """UTC when the steady clock began. The tapes of a process share it, so that their order is that of the calls; a new
    one is taken when the machine's clock was set since."""
    global _known_epoch_ns
    tries = []
    for _ in range(3):  # the look with the least between its two readings: we may be put aside at any moment
        before = _passed_ns(_STEADY)
        now = time.time_ns()
        after = _passed_ns(_STEADY)
        tries.append((after - before, now - after))
    fresh = min(tries)[1]
    if abs(fresh - _known_epoch_ns) > _SET_NS:
        _known_epoch_ns = fresh
    return _known_epoch_ns


def _scalar(value: Any, name: int, step: int, now: int) -> bytes:
    if value is None:
        return _pack_int(NONE, 0, 0, name, step, now, 0)
    if isinstance(value, bool):
        return _pack_int(BOOL, 0, 0, name, step, now, int(value))
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return _pack_int(INT, 0, 0, name, step, now, value)
    if isinstance(value, float):
        return _pack_float(FLOAT, 0, 0, name, step, now, value)
    return _long(TEXT, name, step, now, str(value))


def _long(kind: int, name: int, step: int, now: int, text: str) -> bytes:
    data = text.encode("utf-8", "replace")[:MAX_TEXT]
    cells = [data[at : at + _PER_CELL].ljust(_PER_CELL, b"\0") for at in range(0, len(data), _PER_CELL)]
    head = _pack_int(kind, 0, len(cells), name, step, now, len(data))
    return head + b"".join(b"\xff" + cell for cell in cells)


class Record(NamedTuple):
    kind: int
    name: int
    step: int | None
    time_ns: int
    value: Any  # for NAME and DESCRIPTION their text, for JSON its source


def whole_cells(data: bytes) -> int:
    """How many leading bytes of `data` are complete records: what may be shipped now."""
    end = at = 0
    while at + CELL <= len(data):
        at += CELL * (1 + int.from_bytes(data[at + 2 : at + 4], "little"))
        if at <= len(data):
            end = at
    return end


def records(data: bytes) -> Iterator[Record]:
    """Every record of whole cells, in order."""
    at = 0
    while at + CELL <= len(data):
        kind, _, more, name, step, now, value = _INT.unpack_from(data, at)
        at += CELL
        found: Any = value
        if kind == FLOAT:
            found = _FLOAT.unpack_from(data, at - CELL)[6]
        elif kind == BOOL:
            found = bool(value)
        elif kind == NONE:
            found = None
        elif kind in (NAME, TEXT, JSON, DESCRIPTION):
            body = b"".join(data[at + 1 + CELL * n : at + CELL * (n + 1)] for n in range(more))
            found = body[:value].decode("utf-8", "replace")
            at += CELL * more
        yield Record(kind, name, None if step == NO_STEP else step, now, found)
