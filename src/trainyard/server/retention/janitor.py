"""Applies the rules of retention from time to time, and sweeps up after them."""

from __future__ import annotations

import logging
import threading

from sqlalchemy.exc import SQLAlchemyError

from trainyard.contract.errors import TrainyardError
from trainyard.server.context import Context
from trainyard.server.retention import content, service
from trainyard.server.workspaces import service as workspaces

log = logging.getLogger("trainyard.retention")

EVERY_S = 3_600.0
_FIRST_S = 300.0  # a service that just started has better things to do


class Janitor:
    def __init__(self, context: Context, every_s: float = EVERY_S, first_s: float = _FIRST_S) -> None:
        self._context = context
        self._every_s, self._first_s = every_s, first_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="janitor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def clean(self) -> None:
        """Once. Content is swept only where rules delete: without any, nothing becomes unnamed by itself."""
        with self._context.db.read() as tx:
            places = [each.id for each in workspaces.list_workspaces(tx) if service.rules(tx, each.id)]
        for workspace_id in places:
            for done in service.apply_rules(self._context, workspace_id, dry_run=False):
                if done.run_ids:
                    log.info("rule %s: %s of %d run(s) deleted", done.rule, done.what, len(done.run_ids))
        if places:
            swept = content.sweep(self._context, dry_run=False)
            log.info("content: %d put aside, %d deleted", swept.aside, swept.gone)

    def _run(self) -> None:
        wait_s = self._first_s
        while not self._stop.wait(wait_s):
            wait_s = self._every_s
            try:
                self.clean()
            except (TrainyardError, SQLAlchemyError, OSError):
                log.exception("cleaning failed; it is tried again in an hour")
