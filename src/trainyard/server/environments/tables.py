"""Registered environments by version, and builds that were asked for."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, Integer, String, Table

from trainyard.server.db import metadata, owned

environments = Table(
    "environments",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("created_by", String, nullable=False),
    Column("definition", JSON, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("labels", JSON, nullable=False),
)

environment_builds = Table(
    "environment_builds",
    metadata,
    Column("build_id", String, primary_key=True),
    *owned(),
    Column("name", String, nullable=False),
    Column("definition", JSON, nullable=False),
    Column("relax_pins", Boolean, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("fingerprint", String),
    Column("lock", String),
    Column("warnings", JSON, nullable=False),
    Column("details", JSON, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("ended_ns", BigInteger),
    Index("environment_builds_by_state", "state"),
)
