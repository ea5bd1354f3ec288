"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "computes",
        sa.Column("compute_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("backend", sa.String(), nullable=False),
        sa.Column("vm_size", sa.String(), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("memory_gb", sa.Float(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("priority", sa.String(), nullable=False),
        sa.Column("min_nodes", sa.Integer(), nullable=False),
        sa.Column("max_nodes", sa.Integer(), nullable=False),
        sa.Column("idle_seconds", sa.Integer(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
        sa.Column("changed_ns", sa.BigInteger(), nullable=False),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("compute_id"),
        sa.UniqueConstraint("workspace_id", "name"),
    )
    op.create_table(
        "metric_chunks",
        sa.Column("metric_key", sa.Integer(), nullable=False),
        sa.Column("first", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("texts", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("metric_key", "first"),
    )
    op.create_table(
        "metric_streams",
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("acked", sa.BigInteger(), nullable=False),
        sa.Column("names", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("run_key", "attempt", "stream"),
    )
    op.create_table(
        "metrics",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("last_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_kind", sa.SmallInteger(), nullable=False),
        sa.Column("last", sa.Float(), nullable=True),
        sa.Column("last_text", sa.String(), nullable=True),
        sa.Column("min", sa.Float(), nullable=True),
        sa.Column("max", sa.Float(), nullable=True),
        sa.Column("tail_first", sa.BigInteger(), nullable=False),
        sa.Column("tail_bytes", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("run_key", "name"),
    )
    op.create_table(
        "nodes",
        sa.Column("node_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("compute_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("since_ns", sa.BigInteger(), nullable=False),
        sa.Column("attempt_id", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("gpus", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("node_id"),
    )
    op.create_index("ix_nodes_attempt_id", "nodes", ["attempt_id"], unique=False)
    op.create_index(op.f("ix_nodes_compute_id"), "nodes", ["compute_id"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("run_key", sa.Integer(), nullable=True),
        sa.Column("attempt_id", sa.String(), nullable=True),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("revoked_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_table(
        "workspaces",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("subscription_id", sa.String(), nullable=False),
        sa.Column("resource_group", sa.String(), nullable=False),
        sa.Column("location", sa.String(), nullable=False),
        sa.Column("friendly_name", sa.String(), nullable=True),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id"),
        sa.UniqueConstraint("subscription_id", "resource_group", "name"),
    )
    op.create_table(
        "experiments",
        sa.Column("experiment_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("last_number", sa.Integer(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("archived_ns", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("experiment_id"),
        sa.UniqueConstraint("workspace_id", "name"),
    )
    op.create_table(
        "runs",
        sa.Column("key", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("experiment_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(), nullable=True),
        sa.Column("parent_key", sa.Integer(), nullable=True),
        sa.Column("root_key", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(), nullable=True),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("display_name", sa.String(), nullable=True),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("snapshot_id", sa.String(), nullable=True),
        sa.Column("error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.Column("spec", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("started_ns", sa.BigInteger(), nullable=True),
        sa.Column("ended_ns", sa.BigInteger(), nullable=True),
        sa.Column("deadline_ns", sa.BigInteger(), nullable=True),
        sa.Column("due_ns", sa.BigInteger(), nullable=True),
        sa.Column("claim", sa.String(), nullable=True),
        sa.Column("claim_until_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.experiment_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("workspace_id", "run_id"),
    )
    op.create_index("runs_by_due", "runs", ["due_ns"], unique=False)
    op.create_index("runs_by_experiment", "runs", ["experiment_id", "key"], unique=False)
    op.create_index("runs_by_parent", "runs", ["parent_key"], unique=False)
    op.create_index("runs_by_queue", "runs", ["state", "target", "key"], unique=False)
    op.create_index("runs_by_workspace", "runs", ["workspace_id", "key"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("backend", sa.String(), nullable=False),
        sa.Column("handle", sa.String(), nullable=True),
        sa.Column("stop", sa.String(), nullable=True),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("ended_ns", sa.BigInteger(), nullable=True),
        sa.Column("swept", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("attempt_id"),
        sa.UniqueConstraint("run_key", "number"),
    )
    op.create_index("attempts_by_swept", "attempts", ["swept", "ended_ns"], unique=False)
    op.create_table(
        "run_events",
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_key", "sequence"),
    )
    op.create_table(
        "run_files",
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=True),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_key", "name"),
    )
    op.create_table(
        "run_labels",
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_key", "kind", "name"),
    )
    op.create_index("run_labels_by_name", "run_labels", ["workspace_id", "kind", "name", "value"], unique=False)
    op.create_table(
        "attempt_nodes",
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("node_id", sa.String(), nullable=False),
        sa.Column("gpus", sa.JSON(), nullable=False),
        sa.Column("host", sa.String(), nullable=True),
        sa.Column("address", sa.String(), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("arrived_ns", sa.BigInteger(), nullable=True),
        sa.Column("started_ns", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("ended_ns", sa.BigInteger(), nullable=True),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.attempt_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("attempt_id", "node"),
    )


def downgrade() -> None:
    op.drop_table("attempt_nodes")
    op.drop_index("run_labels_by_name", table_name="run_labels")
    op.drop_table("run_labels")
    op.drop_table("run_files")
    op.drop_table("run_events")
    op.drop_index("attempts_by_swept", table_name="attempts")
    op.drop_table("attempts")
    op.drop_index("runs_by_workspace", table_name="runs")
    op.drop_index("runs_by_queue", table_name="runs")
    op.drop_index("runs_by_parent", table_name="runs")
    op.drop_index("runs_by_experiment", table_name="runs")
    op.drop_index("runs_by_due", table_name="runs")
    op.drop_table("runs")
    op.drop_table("experiments")
    op.drop_table("workspaces")
    op.drop_table("tokens")
    op.drop_index(op.f("ix_nodes_compute_id"), table_name="nodes")
    op.drop_index("ix_nodes_attempt_id", table_name="nodes")
    op.drop_table("nodes")
    op.drop_table("metrics")
    op.drop_table("metric_streams")
    op.drop_table("metric_chunks")
    op.drop_table("computes")
