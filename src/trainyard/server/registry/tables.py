"""Registered models by version, what their names are at, and aliases."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Index, Integer, String, Table, UniqueConstraint

from trainyard.server.db import metadata, owned

models = Table(
    "models",
    metadata,
    Column("key", Integer, primary_key=True),
    *owned(),
    Column("name", String, nullable=False),
    Column("version", Integer, nullable=False),
    Column("request", String, nullable=False),
    Column("content", String, nullable=False),
    Column("files", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("framework", String),
    Column("framework_version", String),
    Column("description", String),
    Column("tags", JSON, nullable=False),
    Column("properties", JSON, nullable=False),
    Column("resources", JSON(none_as_null=True)),
    Column("sample_input_dataset", String),
    Column("sample_output_dataset", String),
    Column("datasets", JSON, nullable=False),
    Column("run_id", String),
    Column("lineage", JSON(none_as_null=True)),
    Column("created_ns", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    UniqueConstraint("workspace_id", "name", "version"),
    UniqueConstraint("workspace_id", "request"),
    Index("models_by_run", "workspace_id", "run_id"),
)

# A version is never given twice, also when the newest was deleted.
model_names = Table(
    "model_names",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("last_version", Integer, nullable=False),
)

model_aliases = Table(
    "model_aliases",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("alias", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("version", Integer, nullable=False),
)
