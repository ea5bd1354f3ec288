"""Transactions, the same on both databases (see TRAINYARD_TEST_DATABASE in conftest.py)."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from trainyard.contract.errors import ServiceUnavailable
from trainyard.server.__main__ import with_database
from trainyard.server.context import Context
from trainyard.server.db import Database
from trainyard.server.identity.tables import tokens
from trainyard.server.settings import Settings
from trainyard.server.workspaces import service as workspaces
from trainyard.server.workspaces.service import NewWorkspace

WRITERS = 8


def test_of_two_writers_one_waits_for_the_other(context: Context) -> None:
    """Else both could look for a name, find none, and make it."""
    coming, inside = threading.Event(), threading.Event()

    def write() -> None:
        coming.set()
        with context.db.write():
            inside.set()

    second = threading.Thread(target=write)
    with context.db.write():
        second.start()
        assert coming.wait(10)
        assert not inside.wait(0.3)
    second.join(10)
    assert inside.is_set()


def test_many_who_want_the_same_experiment_make_one(context: Context) -> None:
    with context.db.write() as tx:
        yard = workspaces.create_workspace(tx, NewWorkspace("yard"), "ada", 1).id

    def ensure(_: int) -> str:
        with context.db.write() as tx:
            return workspaces.ensure_experiment(tx, yard, "mnist", "ada", 1).id

    with ThreadPoolExecutor(WRITERS) as pool:
        made = list(pool.map(ensure, range(WRITERS)))
    assert len(set(made)) == 1


def test_an_address_as_people_write_it_finds_our_driver() -> None:
    pytest.importorskip("psycopg")
    for address in ("postgresql://ada:secret@db.example/yard", "postgres://ada:secret@db.example/yard"):
        database = Database(address)
        assert database.name == "postgresql+psycopg://ada:***@db.example/yard"
        database.close()


def test_an_address_that_cannot_be_used_says_how_to_write_one_and_not_its_password() -> None:
    for address in ("nosuchdatabase://ada:secret@db.example/yard", "ada:secret@db.example"):
        with pytest.raises(ServiceUnavailable, match="postgresql://user@host/name") as told:
            Database(address)
        assert "secret" not in str(told.value)


def test_an_error_of_the_database_does_not_tell_what_was_to_be_written(context: Context) -> None:
    row = {"hash": "h", "workspace_id": "", "created_by": "ada", "kind": "owner", "principal": "secret"}
    twice = [insert(tokens).values(**row, created_ns=1)] * 2
    with pytest.raises(IntegrityError) as told, context.db.write() as tx:
        _ = [tx.execute(each) for each in twice]
    assert "secret" not in str(told.value)


def test_nobody_else_is_told_where_the_database_is(tmp_path: Path) -> None:
    given = {"TRAINYARD_DATABASE": "postgresql://ada:secret@db.example/yard", "PATH": "/bin"}
    settings = Settings.from_env(given, str(tmp_path), None, None, stay=True)
    assert settings.database_url == "postgresql://ada:secret@db.example/yard"
    assert settings.variables == {"PATH": "/bin"}
    assert "secret" not in repr(settings)


def test_a_home_remembers_where_its_rows_are(tmp_path: Path) -> None:
    """A client or an agent that finds the service gone starts it without knowing of the database."""
    bare = Settings.from_env({}, str(tmp_path), None, None, stay=False)
    assert with_database(bare, None).database_url == f"sqlite:///{tmp_path}/trainyard.db"
    said = Settings.from_env({"TRAINYARD_DATABASE": "postgresql://db/yard"}, str(tmp_path), None, None, stay=True)
    umask = os.umask(0o077)
    try:
        assert with_database(said, "postgresql://db/yard").database_url == "postgresql://db/yard"
    finally:
        os.umask(umask)
    assert (tmp_path / "database").stat().st_mode & 0o777 == 0o600
    assert with_database(bare, None).database_url == "postgresql://db/yard"


def test_what_the_database_cannot_keep_is_a_bad_request(call, context: Context) -> None:
    """A number that is too large for its column, which SQLite would not mind."""
    yard = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
    answer = call("GET", f"/api/v1/workspaces/{yard}/images/mnist/{10**30}")
    assert answer.status == 400
    assert "number or a text that is too large" in answer.json["error"]["message"]
