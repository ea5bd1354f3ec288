"""Metrics in and out. A batch's chunks, summaries and the stream's offset change in one transaction, so a batch that is
sent twice counts once."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, delete, func, insert, select, tuple_, update

from trainyard.contract.metrics import MetricSeries, MetricSummary
from trainyard.contract.tape import BOOL, FLOAT, INT, JSON, NO_STEP, TEXT
from trainyard.server.metrics import descriptions
from trainyard.server.metrics.chunks import (
    Columns,
    cut,
    decode,
    in_time_order,
    join,
    numbers,
    pack,
    text_at,
    unpack,
    unseen,
)
from trainyard.server.metrics.tables import metric_chunks, metric_streams, metrics
from trainyard.server.scope import Scope

# A metric's last chunk is extended until it has this many bytes. Larger tails are written again and again by slow
# loggers, smaller ones make more rows to read. Between 4, 16 and 64 KiB the differences are small
# (benchmarks/metrics_ingest.py).
TAIL_BYTES = 16 << 10
CHUNK_VALUES = 1 << 16
LAST_TEXT = 1024  # characters of a text that its summary shows
_SUMMARY = ("run_key", "name", "count", "min", "max", "last_kind", "last", "last_text", "last_step", "last_ns")
_AT_ONCE = 500  # names, keys or rows in one statement

# Made once: building a statement costs more than running it.
_SUMMARIES = (
    select(*(metrics.c[column] for column in _SUMMARY))
    .where(metrics.c.run_key.in_(bindparam("run_keys", expanding=True)))
    .order_by(metrics.c.run_key, metrics.c.name)
)
_SUMMARIES_NAMED = _SUMMARIES.where(metrics.c.name.in_(bindparam("names", expanding=True)))


def apply_cells(tx: Connection, scope: Scope, attempt: int, stream: str, offset: int, cells: bytes) -> int:
    """Take in what of `cells` (which begin at byte `offset` of the stream) is new; answers how many bytes of the stream
    are here now. Whole records only; behind a gap nothing is taken."""
    acked, names = _stream(tx, scope, attempt, stream)
    if offset > acked or offset + len(cells) <= acked:
        return acked
    batch = decode(cells[acked - offset :], names)
    if not batch.end:
        return acked
    known = _metrics_of(tx, scope, list(batch.metrics))
    _store(tx, scope, [(known[name], columns) for name, columns in batch.metrics.items()])
    descriptions.put(tx, scope, batch.descriptions)
    changed: dict[str, Any] = {"acked": acked + batch.end}
    if batch.names:
        changed["names"] = json.dumps({**names, **batch.names})
    tx.execute(update(metric_streams).where(*_is_stream(scope.run_key, attempt, stream)).values(changed))
    return acked + batch.end


def append(tx: Connection, scope: Scope, batch: Mapping[str, Columns]) -> None:
    """Values that come from no stream, each metric's with the values it has. A value that is among a metric's latest
    already (same time, step and value) is left out: who sends a batch again does not double it."""
    known = _metrics_of(tx, scope, list(batch))
    tails = _tails(tx, known.values())
    fresh = []
    for name, columns in batch.items():
        metric = known[name]
        new = unseen(columns, tails.get(metric.key))
        if len(new):
            fresh.append((metric, new))
    _store(tx, scope, fresh)


def acked_of(tx: Connection, run_key: int, attempt: int, stream: str) -> int:
    """How many bytes of a stream are here."""
    found = tx.execute(select(metric_streams.c.acked).where(*_is_stream(run_key, attempt, stream))).scalar()
    return int(found or 0)


def of_system(run_key: int) -> int:
    """The key below which a run's system metrics are kept: in the same tables, never among what users logged."""
    return -run_key


def read_series(tx: Connection, run_key: int, name: str | None = None) -> list[MetricSeries]:
    """What was logged, metrics by name, each in the order of its times (equal times: as they arrived)."""
    chosen = (
        select(metrics.c.name, metric_chunks.c.data, metric_chunks.c.texts)
        .join(metric_chunks, metric_chunks.c.metric_key == metrics.c.key)
        .where(metrics.c.run_key == run_key)
        .order_by(metrics.c.name, metric_chunks.c.first)
    )
    if name is not None:
        chosen = chosen.where(metrics.c.name == name)
    found = []
    described = descriptions.of_run(tx, run_key)
    # one question for all: a run may have a hundred thousand names
    for metric, rows in itertools.groupby(tx.execute(chosen), key=lambda row: row.name):
        values, steps, times = in_time_order(join([unpack(row.data, row.texts) for row in rows]))
        found.append(MetricSeries(metric, tuple(values), tuple(steps), tuple(times), described.get(metric)))
    return found


def columns_of(tx: Connection, run_key: int, name: str) -> Columns | None:
    """One metric's values as they arrived; None: it has none of that name."""
    key = tx.execute(select(metrics.c.key).where(metrics.c.run_key == run_key, metrics.c.name == name)).scalar()
    return None if key is None else _columns(tx, key)


def _columns(tx: Connection, metric_key: int) -> Columns:
    rows = tx.execute(
        select(metric_chunks.c.data, metric_chunks.c.texts)
        .where(metric_chunks.c.metric_key == metric_key)
        .order_by(metric_chunks.c.first)
    )
    return join([unpack(data, texts) for data, texts in rows])


def summaries(
    tx: Connection, run_keys: Iterable[int], names: Sequence[str] | None = None
) -> dict[int, list[MetricSummary]]:
    """The summary of every metric of each run (of those in `names`), by name; a run without any has an empty list."""
    found: dict[int, list[MetricSummary]] = {key: [] for key in run_keys}
    for some in _portions(list(found)):
        if names is None:
            rows = tx.execute(_SUMMARIES, {"run_keys": some})
        else:
            rows = tx.execute(_SUMMARIES_NAMED, {"run_keys": some, "names": list(names)})
        for run_key, name, count, low, high, kind, number, text, step, last_ns in rows:
            last = math.nan if kind == FLOAT and number is None else number
            found[run_key].append(MetricSummary(name, count, last, low, high, text, step, last_ns))
    return found


def how_many(tx: Connection, run_keys: Sequence[int]) -> int:
    """Metrics that these runs have."""
    counts = (
        tx.execute(select(func.count()).select_from(metrics).where(metrics.c.run_key.in_(some))).scalar_one()
        for some in _portions(run_keys)
    )
    return sum(map(int, counts))


def forget(tx: Connection, run_keys: Iterable[int]) -> None:
    """Everything of these runs, gone."""
    descriptions.forget(tx, run_keys := list(run_keys))
    for some in _portions([key for run_key in run_keys for key in (run_key, of_system(run_key))]):
        keys = select(metrics.c.key).where(metrics.c.run_key.in_(some))
        tx.execute(delete(metric_chunks).where(metric_chunks.c.metric_key.in_(keys)))
        tx.execute(delete(metrics).where(metrics.c.run_key.in_(some)))
        tx.execute(delete(metric_streams).where(metric_streams.c.run_key.in_(some)))


@dataclass(frozen=True)
class _Metric:
    """A row of `metrics`, as it is or is to become."""

    key: int
    count: int
    last_ns: int
    last_kind: int
    last: float | None
    last_text: str | None
    min: float | None
    max: float | None
    last_step: int | None
    tail_first: int
    tail_bytes: int


def _stream(tx: Connection, scope: Scope, attempt: int, stream: str) -> tuple[int, dict[int, str]]:
    """What is here of a stream and its name table; the row is ours until the transaction ends."""
    which = _is_stream(scope.run_key, attempt, stream)
    looked_up = select(metric_streams.c.acked, metric_streams.c.names).where(*which).with_for_update()
    row = tx.execute(looked_up).first()
    if row is None:
        key = {"run_key": scope.run_key, "attempt": attempt, "stream": stream}
        _add_missing(tx, metric_streams, [{**key, **scope.owner(), "acked": 0, "names": "{}"}])
        row = tx.execute(looked_up).one()
    return int(row.acked), {int(number): name for number, name in json.loads(row.names).items()}


def _is_stream(run_key: int, attempt: int, stream: str) -> tuple[Any, ...]:
    columns = metric_streams.c
    return (columns.run_key == run_key, columns.attempt == attempt, columns.stream == stream)


def _metrics_of(tx: Connection, scope: Scope, names: Sequence[str]) -> dict[str, _Metric]:
    """The rows of these metrics, made where they are not there, ours until the transaction ends."""
    found = _find_metrics(tx, scope.run_key, names)
    if missing := [name for name in names if name not in found]:
        fresh = {"run_key": scope.run_key, "count": 0, "last_ns": 0, "last_kind": 0, "tail_first": 0, "tail_bytes": 0}
        _add_missing(tx, metrics, [{**fresh, **scope.owner(), "name": name} for name in missing])
        found |= _find_metrics(tx, scope.run_key, missing)
    return found


def _find_metrics(tx: Connection, run_key: int, names: Sequence[str]) -> dict[str, _Metric]:
    columns = [metrics.c[field] for field in _Metric.__dataclass_fields__]
    found = {}
    for some in _portions(names):
        chosen = select(metrics.c.name, *columns).where(metrics.c.run_key == run_key, metrics.c.name.in_(some))
        for name, *values in tx.execute(chosen.order_by(metrics.c.key).with_for_update()):
            found[name] = _Metric(*values)
    return found


def _add_missing(tx: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    """Insert, leaving alone what another transaction inserted meanwhile."""
    if tx.dialect.name == "sqlite":
        tx.execute(insert(table), rows)  # the only writer
    else:
        from sqlalchemy.dialects.postgresql import insert as insert_or_leave

        tx.execute(insert_or_leave(table).on_conflict_do_nothing(), rows)


def _store(tx: Connection, scope: Scope, batch: Sequence[tuple[_Metric, Columns]]) -> None:
    tails = _small_tails(tx, [metric for metric, _ in batch])
    extended: list[dict[str, Any]] = []
    added: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    for metric, columns in batch:
        tail = tails.get(metric.key)
        first = metric.count if tail is None else metric.tail_first
        rows = _chunk_rows(metric.key, first, columns if tail is None else join([tail, columns]))
        if tail is not None:
            extended.append(_as_update(rows[0]))
        added += [{**row, **scope.owner()} for row in rows[tail is not None :]]
        last_row = rows[-1]
        after = replace(
            _summed(metric, columns),
            tail_first=last_row["first"],
            tail_bytes=len(last_row["data"]) + len(last_row["texts"] or b""),
        )
        changed.append(_as_update(vars(after)))
    if extended:
        tx.execute(_EXTEND_CHUNK, extended)
    if added:
        tx.execute(insert(metric_chunks), added)
    if changed:
        tx.execute(_CHANGE_METRIC, changed)


def _small_tails(tx: Connection, known: Sequence[_Metric]) -> dict[int, Columns]:
    return _tails(tx, [metric for metric in known if metric.tail_bytes < TAIL_BYTES])


def _tails(tx: Connection, known: Iterable[_Metric]) -> dict[int, Columns]:
    wanted = [(metric.key, metric.tail_first) for metric in known if metric.tail_bytes > 0]
    columns = metric_chunks.c
    found = {}
    for some in _portions(wanted):
        chosen = select(columns.metric_key, columns.data, columns.texts)
        for key, data, texts in tx.execute(chosen.where(tuple_(columns.metric_key, columns.first).in_(some))):
            found[key] = unpack(data, texts)
    return found


def _chunk_rows(key: int, first: int, columns: Columns) -> list[dict[str, Any]]:
    rows = []
    for piece in cut(columns, CHUNK_VALUES):
        row = {"metric_key": key, "first": first, "count": len(piece), "data": pack(piece)}
        rows.append({**row, "texts": piece.texts or None})
        first += len(piece)
    return rows


def _summed(metric: _Metric, columns: Columns) -> _Metric:
    """The summary with these values added."""
    as_numbers = numbers(columns)
    real = as_numbers[~np.isnan(as_numbers)]
    lows = [value for value in (metric.min, float(real.min()) if len(real) else None) if value is not None]
    highs = [value for value in (metric.max, float(real.max()) if len(real) else None) if value is not None]
    after = replace(
        metric,
        count=metric.count + len(columns),
        min=min(lows, default=None),
        max=max(highs, default=None),
    )
    latest = len(columns) - 1 - int(np.argmax(columns.times[::-1]))  # of equal times the one that came last
    time_ns, kind = int(columns.times[latest]), int(columns.kinds[latest])
    if metric.count and time_ns < metric.last_ns:
        return after
    last: float | None = None
    if kind in (FLOAT, INT, BOOL) and not math.isnan(as_numbers[latest]):
        last = float(as_numbers[latest])
    text = None
    if kind in (TEXT, JSON):
        text = text_at(columns, latest)[:LAST_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")
    step = None if columns.steps[latest] == NO_STEP else int(columns.steps[latest])
    return replace(after, last_ns=time_ns, last_kind=kind, last=last, last_text=text, last_step=step)


_EXTEND_CHUNK = (
    update(metric_chunks)
    .where(metric_chunks.c.metric_key == bindparam("_metric_key"), metric_chunks.c.first == bindparam("_first"))
    .values({name: bindparam(f"_{name}") for name in ("count", "data", "texts")})
)
_CHANGE_METRIC = (
    update(metrics)
    .where(metrics.c.key == bindparam("_key"))
    .values({name: bindparam(f"_{name}") for name in _Metric.__dataclass_fields__ if name != "key"})
)


def _as_update(row: dict[str, Any]) -> dict[str, Any]:
    """Bound under names that cannot be taken for columns."""
    return {f"_{name}": value for name, value in row.items()}


def _portions(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[at : at + _AT_ONCE] for at in range(0, len(items), _AT_ONCE))
