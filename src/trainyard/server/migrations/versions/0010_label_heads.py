"""Labels are found by their beginnings: PostgreSQL refuses to index a text of some kilobytes, and with it the tag."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("run_labels", sa.Column("head", sa.String(), nullable=True))
    op.execute("UPDATE run_labels SET head = substr(value, 1, 200)")
    op.drop_index("run_labels_by_name", table_name="run_labels")
    op.create_index("run_labels_by_head", "run_labels", ["workspace_id", "kind", "name", "head"])


def downgrade() -> None:
    op.drop_index("run_labels_by_head", table_name="run_labels")
    op.create_index("run_labels_by_name", "run_labels", ["workspace_id", "kind", "name", "value"])
    op.drop_column("run_labels", "head")
