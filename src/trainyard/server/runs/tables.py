"""Runs, their attempts, history, labels and files, as rows."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    false,
)

from trainyard.server.db import metadata, owned


def _of_run() -> Column[int]:
    return Column("run_key", Integer, ForeignKey("runs.key", ondelete="CASCADE"), nullable=False)


runs = Table(
    "runs",
    metadata,
    Column("key", Integer, primary_key=True, autoincrement=True),
    *owned(),
    Column("run_id", String, nullable=False),
    Column("experiment_id", String, ForeignKey("experiments.experiment_id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("type", String),
    Column("parent_key", Integer),
    Column("root_key", Integer),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("events", Integer, nullable=False),
    Column("target", String),
    Column("nodes", Integer, nullable=False),
    Column("display_name", String),
    Column("description", String),
    Column("snapshot_id", String),
    Column("error", JSON(none_as_null=True)),
    Column("warnings", JSON, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("properties", JSON, nullable=False),
    Column("spec", JSON(none_as_null=True)),  # None: an interactive run
    Column("request", String, nullable=False),  # digest of what was asked for: tells a resend from a clash
    Column("created_ns", BigInteger, nullable=False),
    Column("started_ns", BigInteger),
    Column("ended_ns", BigInteger),
    Column("deadline_ns", BigInteger),  # of the state it is in
    Column("due_ns", BigInteger),  # when the reconciler looks at it next; None: when somebody wakes it
    Column("claim", String),
    Column("claim_until_ns", BigInteger, nullable=False, default=0),
    Column("archived_ns", BigInteger),  # hidden from lists since then; can be brought back
    UniqueConstraint("workspace_id", "run_id"),
    Index("runs_by_experiment", "experiment_id", "key"),
    Index("runs_by_workspace", "workspace_id", "key"),
    Index("runs_by_parent", "parent_key"),
    Index("runs_by_due", "due_ns"),
    Index("runs_by_queue", "state", "target", "key"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("attempt_id", String, primary_key=True),
    *owned(),
    _of_run(),
    Column("number", Integer, nullable=False),
    Column("backend", String, nullable=False),
    Column("handle", String),  # None: not yet placed
    Column("stop", String),  # why it is being ended: a StopReason
    Column("created_ns", BigInteger, nullable=False),
    Column("ended_ns", BigInteger),
    Column("swept", Boolean, nullable=False, default=False),  # nothing of it lives any more
    UniqueConstraint("run_key", "number"),
    Index("attempts_by_swept", "swept", "ended_ns"),
)

attempt_nodes = Table(
    "attempt_nodes",
    metadata,
    Column("attempt_id", String, ForeignKey("attempts.attempt_id", ondelete="CASCADE"), primary_key=True),
    Column("node", Integer, primary_key=True),
    *owned(),
    Column("node_id", String, nullable=False),
    Column("gpus", JSON, nullable=False),
    Column("host", String),
    Column("address", String),
    Column("pid", Integer),
    Column("ports", JSON(none_as_null=True)),
    Column("arrived_ns", BigInteger),
    Column("started_ns", BigInteger),
    Column("done", Boolean, nullable=False, default=False, server_default=false()),  # it waits for no process any more
    Column("ended", JSON(none_as_null=True)),
    Column("ended_ns", BigInteger),
    Column("final", Boolean, nullable=False, default=False),
)

run_events = Table(
    "run_events",
    metadata,
    Column("run_key", Integer, ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("sequence", Integer, primary_key=True),
    *owned(),
    Column("time_ns", BigInteger, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False),
)

run_labels = Table(  # tags and properties once more, for search
    "run_labels",
    metadata,
    Column("run_key", Integer, ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("kind", String, primary_key=True),  # tag, property
    Column("name", String, primary_key=True),
    *owned(),
    Column("value", String),
    Column("head", String),  # the value's beginning: a database indexes no long text
    Index("run_labels_by_head", "workspace_id", "kind", "name", "head"),
)

run_params = Table(  # what a run was given: script arguments, what it said of itself, hyperparameters
    "run_params",
    metadata,
    Column("run_key", Integer, ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    *owned(),
    Column("value", String, nullable=False),
    Column("head", String, nullable=False),  # the value's beginning: a database indexes no long text
    Column("number", Float),  # the value as a number, where it is one
    Column("source", String, nullable=False),  # argument, logged, hyperparameter
    Index("run_params_by_head", "workspace_id", "name", "head"),
    Index("run_params_by_number", "workspace_id", "name", "number"),
)

run_files = Table(
    "run_files",
    metadata,
    Column("run_key", Integer, ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    *owned(),
    Column("digest", String, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("node", Integer),  # the node it came from; None: uploaded through the API
    Column("created_ns", BigInteger, nullable=False),
)
