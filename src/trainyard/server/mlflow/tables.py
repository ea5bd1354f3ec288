"""What MLflow keeps that nobody else does: its logged models, and what a run read and made."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, Integer, String, Table

from trainyard.server.db import metadata, owned

logged_models = Table(
    "logged_models",
    metadata,
    Column("model_id", String, primary_key=True),
    *owned(),
    Column("experiment_id", String, nullable=False),
    Column("run_id", String),  # the run that made it; its files are that run's, below `folder`
    Column("name", String, nullable=False),
    Column("folder", String, nullable=False),
    Column("status", String, nullable=False),
    Column("model_type", String),
    Column("tags", JSON, nullable=False),
    Column("params", JSON, nullable=False),
    Column("metrics", JSON, nullable=False),  # the latest of each name and dataset
    Column("created_ns", BigInteger, nullable=False),
    Column("updated_ns", BigInteger, nullable=False),
    Index("logged_models_by_experiment", "workspace_id", "experiment_id", "created_ns"),
)

logged_model_files = Table(  # of models that no run made
    "logged_model_files",
    metadata,
    Column("model_id", String, ForeignKey("logged_models.model_id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    *owned(),
    Column("digest", String, nullable=False),
    Column("size", BigInteger, nullable=False),
)

registered_models = Table(  # what MLflow says of a name; versions are the registry's
    "registered_models",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("description", String, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("updated_ns", BigInteger, nullable=False),
)

run_inputs = Table(
    "run_inputs",
    metadata,
    Column("run_key", Integer, primary_key=True, autoincrement=False),
    Column("kind", String, primary_key=True),  # dataset, model_in, model_out
    Column("name", String, primary_key=True),
    *owned(),
    Column("body", JSON, nullable=False),  # as MLflow said it
)
