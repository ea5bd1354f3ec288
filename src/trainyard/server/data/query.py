"""Queries against registered databases: asked here, because only the service has the credentials."""

from __future__ import annotations

import base64
import contextlib
import datetime
import decimal
import os
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from trainyard.contract.data import DatastoreKind, NewDatastore, QueryAnswer
from trainyard.contract.errors import DataAway, DataRefused
from trainyard.server.context import Context
from trainyard.server.data import stores

_MOST_ROWS = 5_000_000


def check(new: NewDatastore) -> None:
    engine = _engine(new.name, new.location, new.secrets)
    if not new.validate:
        return
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if file and not file.startswith((":", "file:")) and not os.path.isfile(file):  # to connect would make one
        raise DataRefused(f"There is no database {file} on the service's machine. Check the path of {new.name!r}.")
    try:
        engine.connect().close()
    except SQLAlchemyError as error:
        raise _told(new.name, error) from error


def ask(context: Context, workspace_id: str, name: str, query: str, limit: int | None) -> QueryAnswer:
    with context.db.read() as tx:
        row = stores.row_of(tx, workspace_id, name)
    if row.kind != DatastoreKind.SQL.value:
        raise DataRefused(f"Datastore {name!r} has files, not tables. Use from_delimited_files or from_parquet_files.")
    engine = _engine(name, row.location, stores.credentials(context, row.sealed))
    most = min(limit if limit is not None else _MOST_ROWS, _MOST_ROWS)
    try:
        with _reading(engine) as connection:
            # as it is written: no ':name' or '%' of it is a parameter
            answer = connection.execution_options(stream_results=True, no_parameters=True).exec_driver_sql(query)
            if not answer.returns_rows:
                raise DataRefused("The statement answers no rows. A dataset is read by a SELECT.")
            with contextlib.closing(answer):
                rows = answer.fetchmany(most + 1)
                names = tuple(answer.keys())
            connection.rollback()
    except SQLAlchemyError as error:
        raise _told(name, error) from error
    if limit is None and len(rows) > most:
        raise DataRefused(f"The query answers more than {_MOST_ROWS:,} rows. Narrow it, or export the table to files.")
    columns = [[row[at] for row in rows[:most]] for at in range(len(names))]
    kinds = tuple(_kind(values) for values in columns)
    return QueryAnswer(names, kinds, [[_plain(value) for value in values] for values in columns])


@contextlib.contextmanager
def _reading(engine: Engine) -> Iterator[Connection]:
    """A connection that changes nothing. To roll back is not enough: SQLite and MySQL keep a DROP TABLE at once."""
    with engine.connect() as connection:
        match engine.dialect.name:
            case "sqlite":
                connection.exec_driver_sql("PRAGMA query_only = ON")
            case "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            case "mysql" | "mariadb":
                connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")
        yield connection


def _engine(name: str, location: dict[str, Any], secrets: dict[str, str]) -> Engine:
    try:
        address: URL = make_url(str(location.get("address", "")))
        if secrets.get("password"):
            address = address.set(password=secrets["password"])
        return create_engine(address, poolclass=NullPool)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise DataRefused(
            f"The address of datastore {name!r} is not one that this service's SQLAlchemy can use "
            f"({type(error).__name__}). Install the database's driver beside the service, or correct the address."
        ) from error


def _told(name: str, error: SQLAlchemyError) -> DataAway | DataRefused:
    """In the driver's words, without the statement and its address."""
    said = str(getattr(error, "orig", None) or type(error).__name__).strip().splitlines()
    words = said[0].rstrip(".") if said else "no"
    sentence = f"The database of datastore {name!r} says: {words}. Check the query and the address."
    return (
        DataAway(sentence)
        if isinstance(error, OperationalError) and error.connection_invalidated
        else DataRefused(sentence)
    )


def _kind(values: list[Any]) -> str:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, bool):
        return "bool"
    if isinstance(first, int | float | decimal.Decimal):
        return "number"
    if isinstance(first, datetime.date | datetime.datetime):
        return "time"
    return "bytes" if isinstance(first, bytes | memoryview) else "text"


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode("ascii")
    return str(value)
