"""Rules of retention, as rows."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table

from trainyard.server.db import metadata

retention_rules = Table(
    "retention_rules",
    metadata,
    Column("workspace_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("created_by", String, nullable=False),
    Column("query", String, nullable=False),  # which runs, in the language of search
    Column("older_than_s", BigInteger, nullable=False),  # since they ended
    Column("what", String, nullable=False),  # runs, attempts
    Column("created_ns", BigInteger, nullable=False),
)
