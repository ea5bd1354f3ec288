"""Rows of compute targets and of the nodes that are up."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Float, Index, Integer, String, Table, UniqueConstraint

from trainyard.server.db import metadata, owned

computes = Table(
    "computes",
    metadata,
    Column("compute_id", String, primary_key=True),
    *owned(),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("backend", String, nullable=False),
    Column("vm_size", String, nullable=False),
    Column("cores", Integer, nullable=False),
    Column("memory_gb", Float, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("priority", String, nullable=False),
    Column("min_nodes", Integer, nullable=False),
    Column("max_nodes", Integer, nullable=False),
    Column("idle_seconds", Integer, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    Column("changed_ns", BigInteger, nullable=False),  # when a node last came or went
    Column("description", String),
    Column("tags", JSON, nullable=False),
    Column("warnings", JSON, nullable=False),
    Column("connection", JSON(none_as_null=True)),  # of an attached machine: address, port, username
    Column("secret", String),  # what lets us in there, encrypted
    UniqueConstraint("workspace_id", "name"),
)

# `compute_id` is "" for nodes of the built-in target `local`, which has no row. A node that runs holds its GPUs.
nodes = Table(
    "nodes",
    metadata,
    Column("node_id", String, primary_key=True),
    *owned(),
    Column("compute_id", String, nullable=False, index=True),
    Column("state", String, nullable=False),
    Column("since_ns", BigInteger, nullable=False),
    Column("attempt_id", String),
    Column("run_id", String),
    Column("gpus", JSON, nullable=False),
    Index("ix_nodes_attempt_id", "attempt_id"),
)
