"""Metric points a second through `apply_cells` into SQLite, against the same points as plain SQLite rows; and reading
them back. Run: python benchmarks/metrics_ingest.py [points]"""

from __future__ import annotations

import sqlite3
import struct
import sys
import tempfile
import time

from trainyard.contract.tape import CELL, FLOAT, NAME
from trainyard.server.db import Database
from trainyard.server.metrics import service
from trainyard.server.scope import Scope

BUDGET = 2_000_000
BATCH = 100_000
_CELL = struct.Struct("<BBHIqqd")


def main(points: int) -> None:
    for metrics in (1, 10, 1000):
        ours = accept(points, metrics)
        print(f"{points:,} points of {metrics} metrics: {ours:,.0f} points/s accepted (budget {BUDGET:,})")
    bare = plain_rows(points)
    print(f"plain SQLite rows: {bare:,.0f} points/s; ours is {accept(points, 1) / bare:.1f}x")
    read_back(points)
    for tail in (4, 16, 64):
        slow_logger(tail << 10)


def accept(points: int, metrics: int) -> float:
    names, cells = tape(points, metrics)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/b.db")
        database.create_all()
        scope = Scope(1, "w", "me")
        began = time.perf_counter()
        feed(database, scope, names + cells, BATCH * CELL)
        spent = time.perf_counter() - began
        database.close()
    return points / spent


def feed(database: Database, scope: Scope, cells: bytes, batch: int) -> None:
    acked = 0
    while acked < len(cells):
        with database.write() as tx:
            acked = service.apply_cells(tx, scope, 1, "rank-0", acked, cells[acked : acked + batch])


def plain_rows(points: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(f"{folder}/b.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE points (run INTEGER, metric INTEGER, step INTEGER, time INTEGER, value REAL)")
        rows = [(1, 1, at, at, float(at)) for at in range(points)]
        began = time.perf_counter()
        for at in range(0, points, BATCH):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO points VALUES (?,?,?,?,?)", rows[at : at + BATCH])
            connection.execute("COMMIT")
        spent = time.perf_counter() - began
        connection.close()
    return points / spent


def read_back(points: int) -> None:
    names, cells = tape(points, 1)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/b.db")
        database.create_all()
        feed(database, Scope(1, "w", "me"), names + cells, BATCH * CELL)
        began = time.perf_counter()
        with database.read() as tx:
            (series,) = service.read_series(tx, 1)
        print(f"reading {len(series.values):,} points: {time.perf_counter() - began:.2f} s")
        database.close()


def slow_logger(tail: int, batches: int = 2000, points: int = 10) -> None:
    """What the size of the extended chunk costs: many small batches, then a read."""
    service.TAIL_BYTES = tail
    names, cells = tape(batches * points, 1)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/b.db")
        database.create_all()
        began = time.perf_counter()
        feed(database, Scope(1, "w", "me"), names + cells, points * CELL)
        spent = (time.perf_counter() - began) / batches
        began = time.perf_counter()
        with database.read() as tx:
            service.read_series(tx, 1)
        read = time.perf_counter() - began
        database.close()
    print(f"tail of {tail >> 10} KiB: {spent * 1e6:.0f} µs a batch of {points}; reading all {read * 1e3:.1f} ms")


def tape(points: int, metrics: int) -> tuple[bytes, bytes]:
    """The cells of the names, and those of the points."""
    names = b"".join(
        _CELL.pack(NAME, 0, 1, number + 1, 0, 0, struct.unpack("<d", (6).to_bytes(8, "little"))[0])
        + b"\xff"
        + f"m{number:05}".encode().ljust(31, b"\0")
        for number in range(metrics)
    )
    return names, b"".join(_CELL.pack(FLOAT, 0, 0, at % metrics + 1, at, at, at * 0.5) for at in range(points))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
