"""Attached machines: where they are, and what lets us in. Secrets of workspaces."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("computes", sa.Column("connection", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("computes", sa.Column("secret", sa.String(), nullable=True))
    op.create_table(
        "vault",
        sa.Column("workspace_id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("vault")
    op.drop_column("computes", "secret")
    op.drop_column("computes", "connection")
