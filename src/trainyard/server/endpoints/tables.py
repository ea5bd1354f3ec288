"""Deployed services, their versions, the tokens that were given for them, and 2018's images."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Integer, String, Table, UniqueConstraint

from trainyard.server.db import metadata, owned

services = Table(
    "services",
    metadata,
    Column("service_id", String, primary_key=True),
    *owned(),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("request", String, nullable=False),
    Column("state", String, nullable=False),
    Column("operation", String, nullable=False),
    Column("error", String),
    Column("generation", Integer, nullable=False),  # rises with every change of the row that users may wait for
    Column("auth", String, nullable=False),
    Column("primary_key_secret", String, nullable=False),  # encrypted
    Column("secondary_key_secret", String, nullable=False),
    Column("chain", String),  # of the certificate that it answers https with, in PEM
    Column("chain_key_secret", String),  # encrypted
    Column("cname", String),
    Column("port", Integer, nullable=False),
    Column("url", String),
    Column("target", String),
    Column("namespace", String),
    Column("collect", Boolean, nullable=False),
    Column("description", String),
    Column("tags", JSON, nullable=False),
    Column("properties", JSON, nullable=False),
    Column("warnings", JSON, nullable=False),
    Column("deleting", Boolean, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    UniqueConstraint("workspace_id", "name"),
)

service_versions = Table(
    "service_versions",
    metadata,
    Column("key", Integer, primary_key=True),
    *owned(),
    Column("service_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("step", String, nullable=False),  # see decide.Step
    Column("error", String),
    Column("spec", JSON, nullable=False),
    Column("fingerprint", String),  # of its built environment
    Column("scorer", JSON(none_as_null=True)),  # contract.serving.Scorer, once it is laid out
    Column("workers", Integer, nullable=False),
    Column("traffic", Integer, nullable=False),
    Column("mirror", Integer, nullable=False),
    Column("is_default", Boolean, nullable=False),
    Column("is_control", Boolean, nullable=False),
    Column("warnings", JSON, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("modified_ns", BigInteger, nullable=False),
    UniqueConstraint("service_id", "name", "revision"),
)

service_tokens = Table(
    "service_tokens",
    metadata,
    Column("digest", String, primary_key=True),
    *owned(),
    Column("service_id", String, nullable=False),
    Column("expires_ns", BigInteger, nullable=False),
)

images = Table(
    "images",
    metadata,
    Column("key", Integer, primary_key=True),
    *owned(),
    Column("name", String, nullable=False),
    Column("version", Integer, nullable=False),
    Column("request", String, nullable=False),
    Column("spec", JSON, nullable=False),
    Column("build_id", String),
    Column("error", String),
    Column("description", String),
    Column("tags", JSON, nullable=False),
    Column("properties", JSON, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    UniqueConstraint("workspace_id", "name", "version"),
    UniqueConstraint("workspace_id", "request"),
)
