"""The ports that a node holds for its processes, and whether it still waits for one of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("attempt_nodes", sa.Column("ports", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("attempt_nodes", sa.Column("done", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("attempt_nodes", "done")
    op.drop_column("attempt_nodes", "ports")
