"""Registered models; deployed services, their versions and tokens; images."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "models",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("framework", sa.String(), nullable=True),
        sa.Column("framework_version", sa.String(), nullable=True),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.Column("resources", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("sample_input_dataset", sa.String(), nullable=True),
        sa.Column("sample_output_dataset", sa.String(), nullable=True),
        sa.Column("datasets", sa.JSON(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("lineage", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("workspace_id", "request"),
        sa.UniqueConstraint("workspace_id", "name", "version"),
    )
    op.create_index("models_by_run", "models", ["workspace_id", "run_id"])
    op.create_table(
        "model_names",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("last_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "name"),
    )
    op.create_table(
        "model_aliases",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("alias", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "name", "alias"),
    )
    op.create_table(
        "services",
        sa.Column("service_id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("auth", sa.String(), nullable=False),
        sa.Column("primary_key_secret", sa.String(), nullable=False),
        sa.Column("secondary_key_secret", sa.String(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("url", sa.String(), nullable=True),
        sa.Column("target", sa.String(), nullable=True),
        sa.Column("namespace", sa.String(), nullable=True),
        sa.Column("collect", sa.Boolean(), nullable=False),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("deleting", sa.Boolean(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("service_id"),
        sa.UniqueConstraint("workspace_id", "name"),
    )
    op.create_table(
        "service_versions",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("service_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=True),
        sa.Column("scorer", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("workers", sa.Integer(), nullable=False),
        sa.Column("traffic", sa.Integer(), nullable=False),
        sa.Column("mirror", sa.Integer(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("is_control", sa.Boolean(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("service_id", "name", "revision"),
    )
    op.create_table(
        "service_tokens",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("service_id", sa.String(), nullable=False),
        sa.Column("expires_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "images",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("build_id", sa.String(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("workspace_id", "name", "version"),
        sa.UniqueConstraint("workspace_id", "request"),
    )


def downgrade() -> None:
    for table in (
        "images",
        "service_tokens",
        "service_versions",
        "services",
        "model_aliases",
        "model_names",
        "models",
    ):
        op.drop_table(table)
