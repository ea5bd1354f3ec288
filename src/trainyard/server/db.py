"""Rows: one engine, short transactions, the same on SQLite and PostgreSQL."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Column, Connection, MetaData, String, create_engine, event, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from trainyard.contract.errors import ServiceUnavailable

metadata = MetaData()

_SCHEMES = ("postgresql://", "postgres://")  # as people write them; SQLAlchemy would look for another driver
_LOCK = 0x7261696C  # a number of our own among the database's advisory locks
_ONE_WRITER = text(f"SELECT pg_advisory_xact_lock({_LOCK})")
_AFTER = "after the commit"  # among what SQLAlchemy keeps for us with a connection


def owned() -> list[Column[Any]]:
    """The columns every table has: whose it is, and who made it."""
    return [Column("workspace_id", String, nullable=False), Column("created_by", String, nullable=False)]


def after_commit(tx: Connection, do: Callable[[], None]) -> None:
    """For what is kept in memory beside the rows: done once `Database.write` has committed, never when it could not."""
    tx.info.setdefault(_AFTER, []).append(do)


class Database:
    """Gives transactions. Nothing slow happens inside one; nobody keeps a connection."""

    def __init__(self, url: str) -> None:
        self.url = url = _with_driver(url)
        self.is_sqlite = url.startswith("sqlite")
        # SQLite has one writer. Waiting here is fair and quick; waiting in SQLite is neither.
        self._writer = threading.RLock()
        try:
            # errors are logged, and a row may hold what is nobody's business
            self._engine = create_engine(
                url,
                poolclass=QueuePool,
                pool_size=16,
                max_overflow=32,
                hide_parameters=True,
                json_serializer=_to_text,
            )
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise ServiceUnavailable(
                f"TRAINYARD_DATABASE cannot be used ({type(error).__name__}). Write it as postgresql://user@host/name, "
                "and install the driver: pip install 'trainyard[postgres]'."
            ) from None  # what the error says may have the password
        if self.is_sqlite:
            event.listen(self._engine, "connect", _prepare_sqlite)

    @property
    def name(self) -> str:
        """For people: the file, or the address without its password."""
        return self._engine.url.database or "" if self.is_sqlite else self._engine.url.render_as_string()

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            yield connection
            connection.rollback()

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Commits at the end, rolls back on an exception. One writer at a time, on either database and over all
        services of it: what was read in here still holds when it is written."""
        lock: contextlib.AbstractContextManager[Any] = self._writer if self.is_sqlite else contextlib.nullcontext()
        with lock, self._engine.connect() as connection:
            connection.info.pop(_AFTER, None)  # of one that was rolled back
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.execute(_ONE_WRITER)
            yield connection
            connection.commit()
            for do in connection.info.pop(_AFTER, ()):
                do()

    def create_all(self) -> None:
        """All tables at once, for tests; the service migrates (see migrations/)."""
        metadata.create_all(self._engine)

    def close(self) -> None:
        self._engine.dispose()


def _to_text(value: Any) -> str:
    """JSON as it is kept. Bytes that are no text (what Python makes lone surrogates of) are left as they are, and
    refused by the driver as in every other column: escaped they would be kept, and could not be sent to anybody."""
    return json.dumps(value, ensure_ascii=False)


def _with_driver(url: str) -> str:
    scheme = next((scheme for scheme in _SCHEMES if url.startswith(scheme)), None)
    return url if scheme is None else f"postgresql+psycopg://{url.removeprefix(scheme)}"


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by us, not guessed by the driver
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "busy_timeout=30000",
        "temp_store=MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")
