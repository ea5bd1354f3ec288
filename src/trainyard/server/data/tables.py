"""Datastores, datasets and lineage, as rows."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, Integer, String, Table, UniqueConstraint

from trainyard.server.db import metadata, owned

datastores = Table(
    "datastores",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("location", JSON, nullable=False),
    Column("sealed", String),  # credentials, encrypted; see server/secrets.py
    Column("is_default", Boolean, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("dataset_id", String, primary_key=True),
    *owned(),
    Column("name", String),  # None: saved for a run, not registered
    Column("version", Integer),
    Column("definition", JSON, nullable=False),
    Column("digest", String, nullable=False),  # of the definition
    Column("description", String, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    UniqueConstraint("workspace_id", "name", "version"),
    Index("datasets_by_digest", "workspace_id", "digest"),
)

data_uses = Table(
    "data_uses",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("run_id", String, primary_key=True),
    Column("output", Boolean, primary_key=True),
    Column("name", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("dataset_id", String),
    Column("dataset_name", String),
    Column("dataset_version", Integer),
    Column("use", JSON, nullable=False),  # the DataUse
    Column("created_ns", BigInteger, nullable=False),
    Index("data_uses_by_dataset", "workspace_id", "dataset_name", "dataset_version"),
)
