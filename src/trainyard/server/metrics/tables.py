"""Rows of metrics. A metric is one name within one run; its values are packed into chunks (see chunks.py)."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
)

from trainyard.server.db import metadata, owned

# One row per tape: how many bytes of it are in the chunks, and what its name numbers mean (JSON, number → name).
metric_streams = Table(
    "metric_streams",
    metadata,
    Column("run_key", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("stream", String, primary_key=True),
    *owned(),
    Column("acked", BigInteger, nullable=False),
    Column("names", String, nullable=False),
)

# One row per metric: its summary. `last_kind` is the tape's kind of the latest value; a NaN is kept as NULL in `last`
# (SQLite cannot store one) and told from "not a number" by its kind. `tail_*` say where the last chunk begins and how
# large it is, so that a small one is extended without looking for it.
metrics = Table(
    "metrics",
    metadata,
    Column("key", Integer, primary_key=True),
    *owned(),
    Column("run_key", Integer, nullable=False),
    Column("name", String, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("last_ns", BigInteger, nullable=False),
    Column("last_kind", SmallInteger, nullable=False),
    Column("last", Float),
    Column("last_text", String),
    Column("min", Float),
    Column("max", Float),
    Column("last_step", BigInteger),
    Column("tail_first", BigInteger, nullable=False),
    Column("tail_bytes", Integer, nullable=False),
    UniqueConstraint("run_key", "name"),
    # a page of runs ordered by a metric is a walk along one of these
    Index("metrics_by_last", "workspace_id", "name", "last", "run_key"),
    Index("metrics_by_min", "workspace_id", "name", "min", "run_key"),
    Index("metrics_by_max", "workspace_id", "name", "max", "run_key"),
)

# `first` is the number of values that arrived before this chunk, so chunks sort by arrival.
metric_chunks = Table(
    "metric_chunks",
    metadata,
    Column("metric_key", Integer, primary_key=True),
    Column("first", BigInteger, primary_key=True, autoincrement=False),
    *owned(),
    Column("count", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("texts", LargeBinary),
)

# What a metric is, in words.
metric_descriptions = Table(
    "metric_descriptions",
    metadata,
    Column("run_key", Integer, primary_key=True, autoincrement=False),
    Column("name", String, primary_key=True),
    *owned(),
    Column("text", String, nullable=False),
)
