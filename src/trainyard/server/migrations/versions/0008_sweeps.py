"""Sweeps and their children."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "sweeps",
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("started", sa.Integer(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("said", sa.JSON(), nullable=False),
        sa.Column("log_size", sa.BigInteger(), nullable=False),
        sa.Column("log_tail", sa.Text(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_key"),
    )
    op.create_index("sweeps_by_open", "sweeps", ["open"])
    op.create_table(
        "sweep_children",
        sa.Column("sweep_key", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("run_key", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("outputs_from", sa.String(), nullable=True),
        sa.Column("stopped", sa.String(), nullable=True),
        sa.Column("over", sa.Boolean(), nullable=False),
        sa.Column("best", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["sweep_key"], ["sweeps.run_key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("sweep_key", "number"),
    )
    op.create_index("sweep_children_by_run", "sweep_children", ["run_key"], unique=True)


def downgrade() -> None:
    op.drop_table("sweep_children")
    op.drop_table("sweeps")
