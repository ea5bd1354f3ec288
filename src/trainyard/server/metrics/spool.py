"""Interactive runs have no agent: what they log on this machine is taken in from their spool folder, here."""

from __future__ import annotations

import os

from trainyard.contract.tape import whole_cells
from trainyard.server.context import Context
from trainyard.server.metrics import service
from trainyard.server.scope import Scope

_BLOCK = 4 << 20
_NO_ATTEMPT = 0


def prepare(folder: str) -> None:
    """The folder an interactive run's processes write their tapes to."""
    os.makedirs(folder, mode=0o700, exist_ok=True)


def drain(context: Context, scope: Scope) -> None:
    """Take in what the run's tapes have that the database does not."""
    folder = os.path.join(context.settings.folder("spool"), str(scope.run_key))
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".tape"):
            _drain_tape(context, scope, os.path.join(folder, name), name)


def _drain_tape(context: Context, scope: Scope, path: str, stream: str) -> None:
    with context.db.read() as tx:
        acked = service.acked_of(tx, scope.run_key, _NO_ATTEMPT, stream)
    with open(path, "rb") as tape:
        while os.fstat(tape.fileno()).st_size > acked:
            tape.seek(acked)
            cells = tape.read(_BLOCK)
            cells = cells[: whole_cells(cells)]
            if not cells:
                return
            with context.db.write() as tx:
                acked = service.apply_cells(tx, scope, _NO_ATTEMPT, stream, acked, cells)
