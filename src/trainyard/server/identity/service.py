"""Tokens in, principals out; and the two questions every route asks of a principal."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from trainyard.contract.errors import AttemptOver, NotAllowed, NotAuthenticated
from trainyard.server.db import Database, after_commit
from trainyard.server.identity.tables import tokens

_REMEMBERED = 10_000

# Made once: building a statement costs more than running it.
_BY_HASH = select(tokens).where(tokens.c.hash == bindparam("hash"))
_GRANT = insert(tokens)
_REVOKE = update(tokens).where(tokens.c.hash == bindparam("old_hash"))


class Kind(StrEnum):
    OWNER = "owner"  # everything
    ATTEMPT = "attempt"  # writes its run and that run's descendants, reads its workspace, nothing else


@dataclass(frozen=True)
class Principal:
    name: str
    kind: Kind
    workspace_id: str = ""
    run_key: int | None = None
    attempt_id: str | None = None
    over: bool = False

    def require_workspace(self, workspace_id: str) -> None:
        """May read in that workspace."""
        if self.kind is not Kind.OWNER and self.workspace_id != workspace_id:
            raise NotAllowed("This token is for another workspace. Use one of this workspace.")

    def require_owner(self, what: str) -> None:
        if self.kind is not Kind.OWNER:
            raise NotAllowed(f"A running job's token may not {what}. Do it from outside the job.")

    def require_run(self, workspace_id: str, lineage: tuple[int, ...]) -> None:
        """May write to a run; `lineage` is the run's key and those of its ancestors."""
        self.require_workspace(workspace_id)
        if self.kind is not Kind.OWNER and self.run_key not in lineage:
            raise NotAllowed("A job's token writes its own run and that run's children only.")


class Authenticator:
    """Knows tokens by their SHA-256. What was looked up once is remembered, so a request costs one hash."""

    def __init__(self, db: Database, secret: bytes) -> None:
        self._db = db
        self._secret = secret
        self._known: OrderedDict[str, Principal] = OrderedDict()
        self._lock = threading.Lock()

    def authenticate(self, token: str) -> Principal:
        digest = _hash(token)
        principal = self._known.get(digest) or self._look_up(digest)
        if principal is None:
            raise NotAuthenticated("This needs a valid token: `Authorization: Bearer <token>`. See `trainyard doctor`.")
        if principal.over:
            raise AttemptOver(principal.name, 0)
        return principal

    def attempt_token(self, attempt_id: str) -> str:
        """An attempt's token can be made again from its id, so placing an attempt can be repeated after a crash."""
        return "att-" + hmac.new(self._secret, attempt_id.encode(), hashlib.sha256).hexdigest()

    def grant_owner(self, tx: Connection, token: str, name: str, now_ns: int) -> None:
        known = tx.execute(_BY_HASH, {"hash": _hash(token)}).first()
        if known is None:
            row = {"hash": _hash(token), "kind": Kind.OWNER, "principal": name, "created_ns": now_ns}
            tx.execute(_GRANT, {**row, "workspace_id": "", "created_by": name})

    def grant_attempt(
        self,
        tx: Connection,
        attempt_id: str,
        run_id: str,
        run_key: int,
        workspace_id: str,
        created_by: str,
        now_ns: int,
    ) -> None:
        row = {
            "hash": _hash(self.attempt_token(attempt_id)),
            "workspace_id": workspace_id,
            "created_by": created_by,
            "kind": Kind.ATTEMPT,
            "principal": run_id,
            "run_key": run_key,
            "attempt_id": attempt_id,
            "created_ns": now_ns,
        }
        tx.execute(_GRANT, row)
        granted = Principal(run_id, Kind.ATTEMPT, workspace_id, run_key, attempt_id)
        after_commit(tx, lambda: self._remember(str(row["hash"]), granted))

    def revoke_attempt(self, tx: Connection, attempt_id: str, now_ns: int) -> None:
        digest = _hash(self.attempt_token(attempt_id))
        tx.execute(_REVOKE, {"old_hash": digest, "revoked_ns": now_ns})
        after_commit(tx, lambda: self._retire(digest))

    def _look_up(self, digest: str) -> Principal | None:
        with self._db.read() as tx:
            row = tx.execute(_BY_HASH, {"hash": digest}).first()
        if row is None:
            return None
        principal = Principal(
            row.principal, Kind(row.kind), row.workspace_id, row.run_key, row.attempt_id, row.revoked_ns is not None
        )
        self._remember(digest, principal)
        return principal

    def _retire(self, digest: str) -> None:
        with self._lock:
            if (known := self._known.get(digest)) is not None:
                self._known[digest] = replace(known, over=True)

    def _remember(self, digest: str, principal: Principal) -> None:
        with self._lock:
            self._known[digest] = principal
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def forget_attempts(tx: Connection, attempt_ids: Sequence[str]) -> None:
    """The tokens of attempts that are deleted; they died before."""
    tx.execute(delete(tokens).where(tokens.c.attempt_id.in_(attempt_ids), tokens.c.revoked_ns.is_not(None)))
