"""The files of a run: names for blobs, and its logs."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from trainyard.contract.errors import UnknownBlob
from trainyard.contract.names import check_file_name
from trainyard.contract.runs import RunFile
from trainyard.server.context import Context
from trainyard.server.runs.tables import run_files
from trainyard.server.scope import Scope


def add_files(tx: Connection, context: Context, scope: Scope, files: list[RunFile], node: int | None = None) -> None:
    """Name blobs that are in the store. A name that is taken gets the new content; where nodes that share no folder
    collected the same name, the lowest node's stays."""
    named = {check_file_name(file.name): file for file in files if file.digest is not None}
    digests = {str(file.digest) for file in named.values()}
    for digest in context.blobs.missing(digests):
        raise UnknownBlob(digest)
    if not named:
        return
    here = (run_files.c.run_key == scope.run_key) & run_files.c.name.in_(named)
    if node is not None:
        lower = select(run_files.c.name).where(here, run_files.c.node < node)
        for name in tx.execute(lower).scalars():
            del named[name]
    tx.execute(delete(run_files).where((run_files.c.run_key == scope.run_key) & run_files.c.name.in_(named)))
    owner = {"workspace_id": scope.workspace_id, "created_by": scope.created_by, "node": node}
    values = [
        {"run_key": scope.run_key, "name": name, "digest": file.digest, "size": file.size, **owner}
        for name, file in named.items()
    ]
    if values:
        now = context.clock()
        tx.execute(insert(run_files), [{**value, "created_ns": now} for value in values])


def list_files(tx: Connection, context: Context, run_key: int) -> list[RunFile]:
    """Files and logs, by name."""
    rows = tx.execute(select(run_files).where(run_files.c.run_key == run_key)).all()
    files = {row.name: RunFile(row.name, row.size, row.digest) for row in rows}
    for name, size in context.logs.listing(run_key):
        files.setdefault(name, RunFile(name, size, None))
    return [files[name] for name in sorted(files)]


def remove_files(tx: Connection, run_key: int, path: str) -> None:
    """Names below a folder, or that one name, or (for "") all of them; the content stays in the store."""
    here = run_files.c.run_key == run_key
    if path:
        here &= (run_files.c.name == path) | run_files.c.name.startswith(f"{path}/", autoescape=True)
    tx.execute(delete(run_files).where(here))
