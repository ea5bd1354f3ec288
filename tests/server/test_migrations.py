"""The migrations lead to the tables that the code declares, and back."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

import trainyard.server
from trainyard.contract.errors import ServiceUnavailable
from trainyard.server.db import Database, metadata
from trainyard.server.migrations import head, migrate


@pytest.fixture
def db(empty_database: str):
    database = Database(empty_database)
    yield database
    database.close()


def test_migrations_make_exactly_the_declared_tables(db: Database) -> None:
    for module in pkgutil.walk_packages(trainyard.server.__path__, "trainyard.server."):
        if module.name.endswith(".tables"):
            importlib.import_module(module.name)
    migrate(db)
    with db.read() as tx:
        differences = compare_metadata(MigrationContext.configure(tx), metadata)
    assert differences == []


def test_every_table_says_whose_its_rows_are() -> None:
    lacking = {
        name: sorted({"workspace_id", "created_by"} - set(table.columns.keys()))
        for name, table in metadata.tables.items()
        if not {"workspace_id", "created_by"} <= set(table.columns.keys())
    }
    assert lacking == {}


def test_a_second_start_changes_nothing(db: Database) -> None:
    migrate(db)
    migrate(db)
    with db.read() as tx:
        assert tx.execute(text("SELECT version_num FROM alembic_version")).scalar() == head()


def test_a_database_of_a_newer_version_is_refused_and_left_alone(db: Database) -> None:
    migrate(db)
    with db.write() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ServiceUnavailable, match="made by a newer Trainyard"):
        migrate(db)
    with db.read() as tx:
        assert tx.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"
