"""Attached machines: rows of their own kind, and the backend that each of them is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, insert, select

from trainyard.backends import make_backend
from trainyard.backends.base import Backend
from trainyard.backends.ssh_channel import Machine
from trainyard.contract.computes import ATTACHED_KIND, AttachCompute, ComputeRecord, NewCompute, Priority
from trainyard.contract.errors import AlreadyExists, BackendRefused, InvalidRequest
from trainyard.contract.names import new_id
from trainyard.server.computes import service
from trainyard.server.computes.tables import computes
from trainyard.server.db import Database
from trainyard.server.secrets import Secrets

BACKEND = "ssh"
_ALWAYS_S = 10**9  # its one node never goes


class Backends(dict[str, Backend]):
    """Those of this service. One of an attached machine, `ssh:<compute id>`, is made when it is first needed."""

    def __init__(self, home: str, db: Database, secrets: Secrets, service_url: Callable[[], str] | None) -> None:
        super().__init__(local=make_backend("local", home=home))
        self._home, self._db, self._secrets, self._service_url = home, db, secrets, service_url

    def __missing__(self, name: str) -> Backend:
        kind, _, compute_id = name.partition(":")
        with self._db.read() as tx:
            row = tx.execute(select(computes).where(computes.c.compute_id == compute_id)).first()
        if kind != BACKEND or row is None or row.connection is None:
            raise BackendRefused(
                f"The machine that backend {name!r} reached is not attached any more. Attach it again."
            )
        kept = json.loads(self._secrets.decrypt(row.secret)) if row.secret else {}
        self[name] = backend = self._reach(Machine(**row.connection, **kept))
        return backend

    def probe(self, new: AttachCompute) -> dict[str, Any]:
        """What the machine is. Raises what is wrong with it or with what was said about it."""
        backend = self._reach(_machine(new), patience_s=60.0)
        try:
            said: dict[str, Any] = backend.hello()  # type: ignore[attr-defined]
            return said
        finally:
            backend.close()

    def encrypted(self, new: AttachCompute) -> str | None:
        kept = {name: getattr(new, name) for name in ("private_key", "passphrase", "password")}
        return self._secrets.encrypt(json.dumps(kept)) if any(kept.values()) else None

    def _reach(self, machine: Machine, patience_s: float = 2.0) -> Backend:
        return make_backend(BACKEND, machine=machine, home=self._home, service=self._service_url, patience_s=patience_s)


def forget(backends: dict[str, Backend], compute_id: str) -> None:
    """The target is gone: so is the way to it."""
    if (backend := backends.pop(f"{BACKEND}:{compute_id}", None)) is not None:
        backend.close()


def check(new: AttachCompute) -> None:
    """What can be told without asking the machine."""
    service.check_new(NewCompute(new.name, kind=ATTACHED_KIND, backend=BACKEND))
    for what, value in (("address", new.address), ("username", new.username)):
        if not value or value.startswith("-") or not value.isprintable() or any(it in value for it in " @"):
            raise InvalidRequest(f"{value!r} is no {what} of a machine. Give what you would give to `ssh`.")
    if not 1 <= new.port <= 65_535:
        raise InvalidRequest(f"ssh_port is {new.port}; it must be from 1 to 65535.")


def attach(
    tx: Connection,
    workspace_id: str,
    principal: str,
    new: AttachCompute,
    machine: dict[str, Any],
    secret: str | None,
    now_ns: int,
) -> ComputeRecord:
    """`machine`: what it said it is."""
    if service.find(tx, workspace_id, new.name) is not None:
        raise AlreadyExists(
            f"There is a compute target {new.name!r} already. Use it, or detach it (or choose another name) first."
        )
    tx.execute(
        insert(computes).values(
            compute_id=new_id(),
            workspace_id=workspace_id,
            created_by=principal,
            name=new.name,
            kind=ATTACHED_KIND,
            backend=BACKEND,
            vm_size="",
            cores=int(machine["cores"]),
            memory_gb=float(machine["memory_gb"]),
            gpus=int(machine["gpus"]),
            priority=Priority.DEDICATED.value,
            min_nodes=1,
            max_nodes=1,
            idle_seconds=_ALWAYS_S,
            created_ns=now_ns,
            modified_ns=now_ns,
            changed_ns=now_ns,
            description=None,
            tags={},
            warnings=[],
            connection={"address": new.address, "port": new.port, "username": new.username},
            secret=secret,
        )
    )
    return service.get(tx, workspace_id, new.name)


def _machine(new: AttachCompute) -> Machine:
    said = asdict(new)
    del said["name"]
    return Machine(**said)
