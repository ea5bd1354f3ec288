"""Tokens, by their hashes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, String, Table

from trainyard.server.db import metadata, owned

tokens = Table(
    "tokens",
    metadata,
    Column("hash", String, primary_key=True),
    *owned(),  # workspace_id "" means: every workspace
    Column("kind", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("run_key", Integer),
    Column("attempt_id", String),
    Column("created_ns", BigInteger, nullable=False),
    Column("revoked_ns", BigInteger),
)
