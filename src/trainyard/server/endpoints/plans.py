"""What a front is told: a service's row and its versions as a plan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from trainyard.contract.data import DEFAULT_DATASTORE
from trainyard.contract.serving import Auth, ServicePlan
from trainyard.server.context import Context
from trainyard.server.data import stores
from trainyard.server.endpoints import certificates, layout
from trainyard.server.endpoints.decide import Revision, init_timeout_s, scorers
from trainyard.server.endpoints.records import spec_of, version_rows
from trainyard.server.endpoints.service import digest_of, tokens_of
from trainyard.server.secrets import Secrets

COLLECTED = "modeldata"  # below the datastore, as Azure called its container


class Plans:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._digests: dict[str, str] = {}  # encrypted key → digest of the key
        self._secrets = Secrets.of_home(context.settings)

    def of(self, row: Row[Any], there: Sequence[Revision]) -> ServicePlan:
        """Of generation 0: its number is given to it when it is written."""
        now, settings = self._context.clock(), self._context.settings
        with self._context.db.read() as tx:
            tokens = tokens_of(tx, row.service_id, now) if row.auth == Auth.TOKEN.value else {}
            specs = {it.key: spec_of(it) for it in version_rows(tx, [row.service_id])}
            collected = _collect_folder(tx, self._context, row.workspace_id) if row.collect else None
        scalings = [specs[it.key].scaling for it in there]
        keys = (row.primary_key_secret, row.secondary_key_secret) if row.auth == Auth.KEY.value else ()
        timeouts = [it.timeout_ms for it in scalings if it.timeout_ms is not None]
        queues = [it.queue for it in scalings if it.queue is not None]
        waits = [it.queue_wait_ms for it in scalings if it.queue_wait_ms is not None]
        return ServicePlan(
            name=row.name,
            generation=0,
            host=settings.services_host,
            port=row.port,  # 0: the front takes that of its last time, or a free one
            auth=Auth(row.auth),
            key_digests=tuple(self._digest(key) for key in keys),
            token_digests=tokens,
            scorers=scorers(there),
            scoring_timeout_ms=max(timeouts, default=ServicePlan.scoring_timeout_ms),
            init_timeout_s=init_timeout_s(scalings),
            queue=max(queues, default=ServicePlan.queue),
            queue_wait_ms=max(waits, default=ServicePlan.queue_wait_ms),
            certificate=certificates.file_of(row, layout.service_folder(settings.home, row.service_id), self._secrets),
            collect=collected,
        )

    def _digest(self, encrypted: str) -> str:
        if encrypted not in self._digests:
            self._digests[encrypted] = digest_of(self._secrets.decrypt(encrypted))
        return self._digests[encrypted]


def _collect_folder(tx: Connection, context: Context, workspace_id: str) -> str | None:
    """In the workspace's own datastore, so that a dataset can be made of what was collected. One that is elsewhere
    cannot be written to by a scoring process: then it is the built-in one."""
    default = stores.default(tx, context, workspace_id)
    store = default if default.path else stores.get(tx, context, workspace_id, DEFAULT_DATASTORE)
    return os.path.join(store.path, COLLECTED) if store.path else None
