"""Services that answer https with a certificate of their owner's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_COLUMNS = ("chain", "chain_key_secret", "cname")


def upgrade() -> None:
    for name in _COLUMNS:
        op.add_column("services", sa.Column(name, sa.String(), nullable=True))


def downgrade() -> None:
    for name in reversed(_COLUMNS):
        op.drop_column("services", name)
