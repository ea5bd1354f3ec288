"""From tapes to chunks under every misfortune at once, many times over: resends, overlaps, gaps, transactions that
fail, records cut in two. In the end every value is there once, in the order of the calls."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainyard.contract.tape import TapeWriter, whole_cells
from trainyard.server.db import Database
from trainyard.server.metrics import service
from trainyard.server.scope import Scope

NAMES = ["loss", "a/b", "\N{SNOWMAN}", "with\nlines\x07", "x" * 600, "", "loss "]
VALUES: list[Any] = [
    *(0, -1, 1 << 62, -(1 << 63), 1 << 200, True, None),
    *(0.5, -0.0, math.inf, -math.inf, math.nan, 5e-324),
    *("", "text", "\0\x1b", "é" * 90),
]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(service, "TAIL_BYTES", 400)  # small, so that chunks end and begin often
    monkeypatch.setattr(service, "CHUNK_VALUES", 7)
    database = Database(f"sqlite:///{tmp_path}/t.db")
    database.create_all()
    yield database
    database.close()


class Stream:
    """One process that logs, and its courier."""

    def __init__(self, folder: Path, name: str, dice: random.Random, logged: dict[str, list[Any]]) -> None:
        self.name, self.dice, self.logged = name, dice, logged
        self.path = folder / name.replace("/", "_")
        self.writer = TapeWriter(str(self.path))
        self.sent = 0

    def log(self) -> None:
        name, step = self.dice.choice(NAMES), self.dice.choice([None, self.dice.randrange(-5, 1 << 40)])
        values = [self.dice.choice(VALUES) for _ in range(self.dice.choice([1, 1, 1, 3]))]
        plain = {} if step is None else {"step": step}
        if self.dice.random() < 0.2:
            self.writer.json(name, '{"row": {"a": [1, "\\u2603"]}}', **plain)
            values = [{"row": {"a": [1, "\N{SNOWMAN}"]}}]
        else:
            self.writer.values(name, values, **plain)
        if self.dice.random() < 0.1:
            self.writer.describe(name, f"about {name}")
        stored = name[:512].replace("\0", "\N{REPLACEMENT CHARACTER}")
        self.logged.setdefault(stored, []).extend((repr(_kept(value)), step) for value in values)

    def deliver(self, database: Database, run_key: int) -> None:
        """Somewhere between what was acknowledged and the end, cut anywhere; perhaps twice, perhaps in vain."""
        data = self.path.read_bytes()
        start = self.dice.choice([self.sent, self.sent, self._record_before(data), self.sent + 32])
        end = self.dice.randrange(start, len(data) + 1) if start <= len(data) else start
        cells = data[start:end] if self.dice.random() < 0.3 else data[start : start + whole_cells(data[start:end])]
        fails = self.dice.random() < 0.2
        for _ in range(self.dice.choice([1, 1, 2])):
            try:
                with database.write() as tx:
                    acked = service.apply_cells(tx, Scope(run_key, "w", "ann"), 1, self.name, start, cells)
                    if fails:
                        raise ConnectionError
            except ConnectionError:
                continue
            assert self.sent <= acked <= len(data)
            self.sent = acked

    def _record_before(self, data: bytes) -> int:
        """Where some record began that was sent already."""
        starts, at = [0], 0
        while at < self.sent:
            at += whole_cells(data[at : at + 32]) or 32 * (1 + int.from_bytes(data[at + 2 : at + 4], "little"))
            starts.append(at)
        return self.dice.choice(starts)


def _kept(value: Any) -> Any:
    return str(value) if type(value) is int and not -(1 << 63) <= value < 1 << 63 else value


@pytest.mark.parametrize("seed", range(6))
def test_every_value_is_there_once_whatever_happens(database: Database, tmp_path: Path, seed: int) -> None:
    dice, logged = random.Random(seed), {}
    streams = [Stream(tmp_path, name, dice, logged) for name in ("node-0/0.tape", "node-1/0.tape", "0-77.tape")]
    for _ in range(120):
        stream = dice.choice(streams)
        if dice.random() < 0.7:
            stream.log()
        else:
            stream.deliver(database, 1)
    for stream in streams:
        while stream.sent < stream.path.stat().st_size:
            stream.deliver(database, 1)
    with database.read() as tx:
        series = service.read_series(tx, 1)
        counts = {one.name: one.count for one in service.summaries(tx, [1])[1] if one.count}
    found = {one.name: list(zip(map(repr, one.values), one.steps, strict=True)) for one in series if one.values}
    assert found == logged
    assert counts == {name: len(values) for name, values in logged.items()}
    assert {one.description for one in series if one.description} <= {f"about {name}" for name in NAMES}
