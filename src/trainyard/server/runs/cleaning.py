"""What deleting needs to know of runs, and the deleting of their rows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, delete, func, select

from trainyard.server.identity import service as identity
from trainyard.server.runs.records import RunRow, descendants, run_row_by_key
from trainyard.server.runs.tables import attempts, run_files, runs

MOST = 100_000  # runs that one deletion takes; the next takes the rest
_AT_ONCE = 500


def family(tx: Connection, run_key: int) -> list[RunRow]:
    """The run and all below it."""
    return rows_of(tx, [run_key, *descendants(tx, run_key)])


def rows_of(tx: Connection, keys: Sequence[int]) -> list[RunRow]:
    if len(keys) == 1:
        return [run_row_by_key(tx, keys[0])]
    return [
        RunRow.of(row)
        for some in _portions(keys)
        for row in tx.execute(select(runs).where(runs.c.key.in_(some)).order_by(runs.c.key))
    ]


def files_of(tx: Connection, keys: Sequence[int]) -> tuple[int, int]:
    """How many files, and their bytes."""
    number = size = 0
    for some in _portions(keys):
        chosen = select(func.count(), func.coalesce(func.sum(run_files.c.size), 0)).where(run_files.c.run_key.in_(some))
        more, bytes_ = tx.execute(chosen).one()
        number, size = number + int(more), size + int(bytes_)
    return number, size


def attempts_of(tx: Connection, keys: Sequence[int]) -> int:
    return sum(
        int(tx.execute(select(func.count()).select_from(attempts).where(attempts.c.run_key.in_(some))).scalar_one())
        for some in _portions(keys)
    )


def old_attempts(tx: Connection, keys: Sequence[int]) -> int:
    return sum(
        int(tx.execute(select(func.count()).select_from(attempts).where(_old(some))).scalar_one())
        for some in _portions(keys)
    )


def with_old_attempts(tx: Connection, keys: Sequence[int]) -> set[int]:
    """Which of these runs have any."""
    return {
        int(key)
        for some in _portions(keys)
        for key in tx.execute(select(attempts.c.run_key).where(_old(some)).distinct()).scalars()
    }


def drop_old_attempts(tx: Connection, keys: Sequence[int]) -> None:
    """Those that are over and were followed by another; with their nodes, and the tokens that died with them."""
    for some in _portions(keys):
        ids = list(tx.execute(select(attempts.c.attempt_id).where(_old(some))).scalars())
        identity.forget_attempts(tx, ids)
        tx.execute(delete(attempts).where(attempts.c.attempt_id.in_(ids)))


def delete_rows(tx: Connection, keys: Sequence[int]) -> None:
    """Runs, and by their foreign keys attempts, history, labels, parameters and names of files."""
    for some in _portions(keys):
        ids = list(tx.execute(select(attempts.c.attempt_id).where(attempts.c.run_key.in_(some))).scalars())
        identity.forget_attempts(tx, ids)
        tx.execute(delete(runs).where(runs.c.key.in_(some)))


def _old(keys: Sequence[int]) -> ColumnElement[bool]:
    followed = select(runs.c.key).where(runs.c.key == attempts.c.run_key, runs.c.attempt > attempts.c.number).exists()
    return attempts.c.run_key.in_(keys) & attempts.c.ended_ns.is_not(None) & attempts.c.swept & followed


def _portions(keys: Sequence[int]) -> list[Sequence[int]]:
    return [keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE)]
