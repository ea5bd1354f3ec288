"""Rows of secrets. The value is encrypted (see server/secrets.py)."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table

from trainyard.server.db import metadata

vault = Table(
    "vault",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("value", String, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
)
