"""Workspaces and experiments, as rows."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Integer, String, Table, UniqueConstraint

from trainyard.server.db import metadata

workspaces = Table(
    "workspaces",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("name", String, nullable=False),
    Column("subscription_id", String, nullable=False),
    Column("resource_group", String, nullable=False),
    Column("location", String, nullable=False),
    Column("friendly_name", String),
    Column("description", String),
    Column("tags", JSON, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    UniqueConstraint("subscription_id", "resource_group", "name"),
)

experiments = Table(
    "experiments",
    metadata,
    Column("experiment_id", String, primary_key=True),
    Column("workspace_id", String, ForeignKey("workspaces.workspace_id", ondelete="CASCADE"), nullable=False),
    Column("created_by", String, nullable=False),
    Column("name", String, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("last_number", Integer, nullable=False, default=0),  # of its runs
    Column("created_ns", BigInteger, nullable=False),
    Column("archived_ns", BigInteger),
    UniqueConstraint("workspace_id", "name"),
)
