"""Sweeps and their children, as rows."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, String, Table, Text

from trainyard.server.db import metadata, owned

sweeps = Table(
    "sweeps",
    metadata,
    Column("run_key", Integer, ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    *owned(),
    Column("spec", JSON, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("total", Integer, nullable=False),  # children there will be, unless time runs out
    Column("started", Integer, nullable=False),  # children there are
    Column("open", Boolean, nullable=False),  # the service still conducts it
    Column("said", JSON, nullable=False),  # which warnings it has had
    Column("log_size", BigInteger, nullable=False),  # bytes of its log before `log_tail`
    Column("log_tail", Text, nullable=False),  # what the last transaction said; it may not be in the file yet
    Column("created_ns", BigInteger, nullable=False),
    Index("sweeps_by_open", "open"),
)

sweep_children = Table(
    "sweep_children",
    metadata,
    Column("sweep_key", Integer, ForeignKey("sweeps.run_key", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *owned(),
    Column("run_key", Integer, ForeignKey("runs.key", ondelete="CASCADE"), nullable=False),
    Column("run_id", String, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("outputs_from", String),  # the run whose outputs it began with
    Column("stopped", String),  # why the policy ended it
    Column("over", Boolean, nullable=False),  # its end has been taken in
    Column("best", Float),  # of the primary metric, when it was over
    Index("sweep_children_by_run", "run_key", unique=True),
)
