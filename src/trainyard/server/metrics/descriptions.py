"""What metrics are, in the words of who logged them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, delete, select

from trainyard.server.metrics.tables import metric_descriptions
from trainyard.server.scope import Scope

_AT_ONCE = 500  # names or keys in one statement


def put(tx: Connection, scope: Scope, said: Mapping[str, str]) -> None:
    """The last that was said counts."""
    insert = _inserts(tx.dialect.name)(metric_descriptions)
    upsert = insert.on_conflict_do_update(index_elements=["run_key", "name"], set_={"text": insert.excluded.text})
    rows = [
        {"run_key": scope.run_key, **scope.owner(), "name": name, "text": _clean(said[name])} for name in sorted(said)
    ]
    if rows:
        tx.execute(upsert, rows)


def of_run(tx: Connection, run_key: int) -> dict[str, str]:
    columns = metric_descriptions.c
    rows = tx.execute(select(columns.name, columns.text).where(columns.run_key == run_key))
    return {row.name: row.text for row in rows}


def forget(tx: Connection, run_keys: Iterable[int]) -> None:
    keys = list(run_keys)
    for at in range(0, len(keys), _AT_ONCE):
        tx.execute(delete(metric_descriptions).where(metric_descriptions.c.run_key.in_(keys[at : at + _AT_ONCE])))


def _clean(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _inserts(dialect: str) -> Any:
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as of_sqlite

        return of_sqlite
    from sqlalchemy.dialects.postgresql import insert as of_postgres

    return of_postgres
