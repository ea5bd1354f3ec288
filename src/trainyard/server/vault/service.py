"""What is done with a workspace's secrets. Values come and go encrypted; nothing here sees the key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select

from trainyard.contract.errors import InvalidName, InvalidRequest
from trainyard.contract.vault import UnknownSecret
from trainyard.server.vault.tables import vault

LONGEST_VALUE = 25_000
_NAME = re.compile(r"[A-Za-z0-9-]{1,127}")


def check(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise InvalidName("a secret", name, "letters, digits and dashes, at most 127")
        if not isinstance(value, str) or not value or len(value) > LONGEST_VALUE:
            raise InvalidRequest(f"The secret {name!r} must be a text of 1 to {LONGEST_VALUE} characters.")


def put(tx: Connection, workspace_id: str, principal: str, encrypted: Mapping[str, str], now_ns: int) -> None:
    """All or none; a name that is there gets the new value."""
    _drop(tx, workspace_id, encrypted)
    rows = [
        {"workspace_id": workspace_id, "name": name, "created_by": principal, "value": value, "modified_ns": now_ns}
        for name, value in encrypted.items()
    ]
    if rows:
        tx.execute(insert(vault), rows)


def encrypted_values(tx: Connection, workspace_id: str, names: Iterable[str]) -> dict[str, str]:
    wanted = select(vault.c.name, vault.c.value).where(
        vault.c.workspace_id == workspace_id, vault.c.name.in_(list(names))
    )
    return {name: value for name, value in tx.execute(wanted)}  # noqa: C416 - rows are no pairs to mypy


def names(tx: Connection, workspace_id: str) -> tuple[str, ...]:
    mine = select(vault.c.name).where(vault.c.workspace_id == workspace_id).order_by(vault.c.name)
    return tuple(tx.execute(mine).scalars())


def remove(tx: Connection, workspace_id: str, name: str) -> None:
    if not _drop(tx, workspace_id, [name]):
        raise UnknownSecret(name)


def remove_all(tx: Connection, workspace_id: str) -> None:
    """The workspace goes, and all its secrets with it."""
    tx.execute(delete(vault).where(vault.c.workspace_id == workspace_id))


def _drop(tx: Connection, workspace_id: str, names: Iterable[str]) -> int:
    mine = delete(vault).where(vault.c.workspace_id == workspace_id, vault.c.name.in_(list(names)))
    return int(tx.execute(mine).rowcount)
