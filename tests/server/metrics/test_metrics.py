"""Metrics into a real SQLite file and out of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from trainyard.contract.metrics import MetricSummary
from trainyard.contract.tape import CELL, TapeWriter
from trainyard.server.db import Database
from trainyard.server.metrics import service
from trainyard.server.metrics.tables import metric_chunks
from trainyard.server.scope import Scope

SCOPE = Scope(7, "w1", "ann")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/t.db")
    database.create_all()
    yield database
    database.close()


def apply(database: Database, data: bytes, offset: int = 0, attempt: int = 1, stream: str = "r0") -> int:
    with database.write() as tx:
        return service.apply_cells(tx, SCOPE, attempt, stream, offset, data)


def values(database: Database, name: str) -> list[object]:
    with database.read() as tx:
        (series,) = service.read_series(tx, SCOPE.run_key, name)
    return list(series.values)


def summary(database: Database) -> list[MetricSummary]:
    with database.read() as tx:
        return service.summaries(tx, [SCOPE.run_key])[SCOPE.run_key]


def test_a_batch_sent_twice_or_overlapping_counts_once(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    for at in range(6):
        tape.number("loss", float(at), at)
    data = (tmp_path / "t").read_bytes()
    assert apply(database, data[: 5 * CELL]) == 5 * CELL
    assert apply(database, data[: 5 * CELL]) == 5 * CELL
    assert apply(database, data[3 * CELL :], 3 * CELL) == 8 * CELL
    assert apply(database, data) == 8 * CELL
    assert values(database, "loss") == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert summary(database) == [MetricSummary("loss", 6, 5.0, 0.0, 5.0, last_step=5)]
    with database.read() as tx:
        assert service.acked_of(tx, 7, 1, "r0") == 8 * CELL
        assert service.acked_of(tx, 7, 1, "r1") == 0
        assert service.read_series(tx, 7)[0].steps == (0, 1, 2, 3, 4, 5)


def test_behind_a_gap_nothing_is_taken(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.values("m", [1, 2, 3])
    data = (tmp_path / "t").read_bytes()
    assert apply(database, data[:CELL]) == 0  # half a name
    assert apply(database, data[4 * CELL :], 4 * CELL) == 0
    assert apply(database, data[: 3 * CELL]) == 3 * CELL
    assert apply(database, data[4 * CELL :], 4 * CELL) == 3 * CELL
    assert apply(database, data[3 * CELL :], 3 * CELL) == 5 * CELL
    assert values(database, "m") == [1, 2, 3]


def test_a_failed_transaction_leaves_neither_values_nor_offset(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.number("m", 1.0)
    data = (tmp_path / "t").read_bytes()

    def apply_and_fail() -> None:
        with database.write() as tx:
            service.apply_cells(tx, SCOPE, 1, "r0", 0, data)
            raise RuntimeError("cut")

    with pytest.raises(RuntimeError, match="cut"):
        apply_and_fail()
    assert summary(database) == []
    assert apply(database, data) == 3 * CELL
    assert values(database, "m") == [1.0]


def test_streams_and_attempts_are_apart_and_their_values_meet_in_time(database: Database, tmp_path: Path) -> None:
    rank0, rank1 = TapeWriter(str(tmp_path / "0")), TapeWriter(str(tmp_path / "1"))
    rank1.number("other", 0.0)
    rank0.number("m", 1.0)
    rank1.number("m", 2.0)
    rank0.number("m", 3.0)
    apply(database, (tmp_path / "1").read_bytes(), stream="r1")
    apply(database, (tmp_path / "0").read_bytes(), stream="r0")
    assert values(database, "m") == [1.0, 2.0, 3.0]
    again = TapeWriter(str(tmp_path / "2"))
    again.number("m", 4.0)
    apply(database, (tmp_path / "2").read_bytes(), attempt=2)
    assert values(database, "m") == [1.0, 2.0, 3.0, 4.0]
    with database.read() as tx:
        assert [series.name for series in service.read_series(tx, 7)] == ["m", "other"]
        assert service.read_series(tx, 7, "nothing") == []
        assert service.read_series(tx, 8) == []


def test_small_batches_become_few_chunks(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    acked = 0
    expected: list[object] = []
    for at in range(300):
        tape.values("m", [at, f"t{at}"])
        expected += [at, f"t{at}"]
        acked = apply(database, (tmp_path / "t").read_bytes()[acked:], acked)
    assert values(database, "m") == expected
    with database.read() as tx:
        assert tx.execute(select(func.count()).select_from(metric_chunks)).scalar() == 1


def test_a_large_batch_is_cut(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CHUNK_VALUES", 100)
    tape = TapeWriter(str(tmp_path / "t"))
    tape.values("m", list(range(250)))
    tape.values("m", list(range(250, 260)))
    data = (tmp_path / "t").read_bytes()
    first = apply(database, data[: 252 * CELL])
    apply(database, data[first:], first)
    assert values(database, "m") == list(range(260))
    with database.read() as tx:
        rows = tx.execute(select(metric_chunks.c.first, metric_chunks.c.count)).all()
    assert [tuple(row) for row in rows] == [(0, 100), (100, 100), (200, 60)]


def test_summaries_follow_time_and_know_odd_numbers(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.values("whole", [3, True, -2])
    tape.values("diverged", [1.0, math.inf, -math.inf, math.nan])
    tape.values("words", [5, "done"])
    tape.values("gone", [2.0, None])
    tape.json("rows", '{"row": {}}')
    apply(database, (tmp_path / "t").read_bytes())
    found = {one.name: one for one in summary(database)}
    assert found["whole"] == MetricSummary("whole", 3, -2.0, -2.0, 3.0)
    assert (found["diverged"].min, found["diverged"].max) == (-math.inf, math.inf)
    assert found["diverged"].last is not None
    assert math.isnan(found["diverged"].last)
    assert found["words"] == MetricSummary("words", 2, None, 5.0, 5.0, "done")
    assert found["gone"] == MetricSummary("gone", 2, None, 2.0, 2.0)
    assert found["rows"] == MetricSummary("rows", 1, None, None, None, '{"row": {}}')
    assert [str(value) for value in values(database, "diverged")] == ["1.0", "inf", "-inf", "nan"]


def test_a_late_stream_does_not_become_the_last_value(database: Database, tmp_path: Path) -> None:
    early, late = TapeWriter(str(tmp_path / "early")), TapeWriter(str(tmp_path / "late"))
    early.number("m", 9.0)
    late.number("m", 1.0)
    apply(database, (tmp_path / "late").read_bytes(), stream="late")
    apply(database, (tmp_path / "early").read_bytes(), stream="early")
    assert summary(database) == [MetricSummary("m", 2, 1.0, 1.0, 9.0)]


def test_many_metrics_at_once(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    for _ in range(2):
        for at in range(1200):
            tape.number(f"m{at}", float(at))
    apply(database, (tmp_path / "t").read_bytes())
    assert len(summary(database)) == 1200
    assert values(database, "m1199") == [1199.0, 1199.0]


def test_forgotten_runs_leave_nothing(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.number("m", 1.0)
    apply(database, (tmp_path / "t").read_bytes())
    with database.write() as tx:
        service.forget(tx, [7])
        assert service.summaries(tx, [7]) == {7: []}
        assert tx.execute(select(func.count()).select_from(metric_chunks)).scalar() == 0
        assert service.acked_of(tx, 7, 1, "r0") == 0


def test_the_last_description_counts(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.describe("loss", "first")
    tape.number("loss", 1.0)
    tape.number("plain", 1.0)
    cut = (tmp_path / "t").stat().st_size
    tape.describe("loss", "of the \0 batch")
    data = (tmp_path / "t").read_bytes()
    apply(database, data[:cut])
    apply(database, data, 0)
    with database.read() as tx:
        found = {series.name: series.description for series in service.read_series(tx, SCOPE.run_key)}
    assert found == {"loss": "of the \N{REPLACEMENT CHARACTER} batch", "plain": None}
    assert [one.name for one in summary(database)] == ["loss", "plain"]


def test_system_metrics_are_kept_apart_and_forgotten_together(database: Database, tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.number("loss", 1.0)
    data = (tmp_path / "t").read_bytes()
    apply(database, data)
    with database.write() as tx:
        service.apply_cells(tx, replace(SCOPE, run_key=service.of_system(7)), 1, "node-0/system", 0, data)
    with database.read() as tx:
        assert [one.values for one in service.read_series(tx, service.of_system(7))] == [(1.0,)]
    assert values(database, "loss") == [1.0]
    with database.write() as tx:
        service.forget(tx, [7])
        assert service.read_series(tx, service.of_system(7)) == service.read_series(tx, 7) == []
