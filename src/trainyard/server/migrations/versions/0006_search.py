"""Parameters, indexes to order runs by a metric, archived runs, rules of retention, what only MLflow knows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("runs", sa.Column("archived_ns", sa.BigInteger(), nullable=True))
    op.add_column("metrics", sa.Column("last_step", sa.BigInteger(), nullable=True))
    for statistic in ("last", "min", "max"):
        op.create_index(f"metrics_by_{statistic}", "metrics", ["workspace_id", "name", statistic, "run_key"])
    op.create_table(
        "run_params",
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("head", sa.String(), nullable=False),
        sa.Column("number", sa.Float(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_key", "name"),
    )
    op.create_index("run_params_by_head", "run_params", ["workspace_id", "name", "head"])
    op.create_index("run_params_by_number", "run_params", ["workspace_id", "name", "number"])
    op.create_table(
        "retention_rules",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("query", sa.String(), nullable=False),
        sa.Column("older_than_s", sa.BigInteger(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "name"),
    )
    op.create_table(
        "logged_models",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("experiment_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("folder", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("model_type", sa.String(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("model_id"),
    )
    op.create_index("logged_models_by_experiment", "logged_models", ["workspace_id", "experiment_id", "created_ns"])
    op.create_table(
        "logged_model_files",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["logged_models.model_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("model_id", "name"),
    )
    op.create_table(
        "registered_models",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "name"),
    )
    op.create_table(
        "run_inputs",
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "kind", "name"),
    )


def downgrade() -> None:
    for table in (
        "run_inputs",
        "registered_models",
        "logged_model_files",
        "logged_models",
        "retention_rules",
        "run_params",
    ):
        op.drop_table(table)
    for statistic in ("last", "min", "max"):
        op.drop_index(f"metrics_by_{statistic}", table_name="metrics")
    op.drop_column("metrics", "last_step")
    op.drop_column("runs", "archived_ns")
