"""Makes wishes true. Handlers write rows; this thread looks at those that are due, does the slow work with no
transaction open, and applies the outcome only to runs whose claim it still holds."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterator

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.exc import SQLAlchemyError

from trainyard.backends.base import Observed
from trainyard.contract.errors import BackendAway, TrainyardError
from trainyard.contract.names import new_id
from trainyard.contract.runs import RunError
from trainyard.contract.states import TERMINAL, RunState
from trainyard.server.computes import service as computes
from trainyard.server.context import Context
from trainyard.server.metrics import spool
from trainyard.server.preparing import LOOK_S, Outcome, Preparing
from trainyard.server.runs import placing
from trainyard.server.runs.advance import advance, live_attempt
from trainyard.server.runs.decide import SECOND, StopReason
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow, run_row_by_key
from trainyard.server.runs.tables import attempts, runs
from trainyard.server.scope import Scope
from trainyard.server.sweeps.conduct import Conductor

log = logging.getLogger("trainyard.reconcile")

_CLAIM_S = 60
_BATCH = 256
_LOOK_NS = SECOND  # between two looks at a run that has agents
_LONGEST_WAIT_S = 5.0
_STOP_GRACE_S = 10.0
_LONGEST_GATHER_S = 0.05
_SWEEP_NS = 30 * SECOND


_BEFORE_THE_QUEUE = frozenset({RunState.NOT_STARTED, RunState.PREPARING})
_WITH_AGENTS = frozenset({RunState.STARTING, RunState.RUNNING, RunState.CANCEL_REQUESTED, RunState.FINALIZING})

_DUE = (
    select(runs.c.key)
    .where(runs.c.due_ns <= bindparam("now"), runs.c.claim_until_ns < bindparam("now"))
    .order_by(runs.c.key)
    .limit(_BATCH)
)
_TAKE = update(runs).where(runs.c.key == bindparam("old_key"), runs.c.claim_until_ns < bindparam("now"))
_CLAIMED = (
    select(runs)
    .where(runs.c.key.in_(bindparam("keys", expanding=True)), runs.c.claim == bindparam("mine"))
    .order_by(runs.c.key)
)
_LET_GO = update(runs).where(runs.c.key == bindparam("old_key"))
_ANY_QUEUED = select(runs.c.key).where(runs.c.state == RunState.QUEUED.value).limit(1)
_ABANDONED = select(attempts.c.attempt_id, attempts.c.backend, attempts.c.handle).where(
    attempts.c.swept.is_(False), attempts.c.ended_ns.is_not(None)
)
_SWEPT = update(attempts).where(attempts.c.attempt_id == bindparam("old_id"))
_NEXT_DUE = select(func.min(runs.c.due_ns)).where(runs.c.due_ns.is_not(None))


class Reconciler(threading.Thread):
    def __init__(self, context: Context) -> None:
        super().__init__(name="reconciler", daemon=True)
        self._context = context
        self._stopping = threading.Event()
        self._next_sweep_ns = 0
        self._preparing = Preparing(context)
        self._conductor = Conductor(context)

    def stop(self) -> None:
        self._stopping.set()
        self._context.wake.set()
        self.join(timeout=10)
        self._preparing.close()

    def run(self) -> None:
        self._free_claims()
        while not self._stopping.is_set():
            self._context.wake.clear()
            began = time.monotonic()
            try:
                wait_s = self.tick()
            except (SQLAlchemyError, TrainyardError, OSError):
                log.exception("a look at the runs failed; trying again in a second")
                wait_s = 1.0
            ended = time.monotonic()
            if self._context.wake.wait(wait_s):
                self._stopping.wait(rest_s(ended - began, time.monotonic() - ended))

    def _free_claims(self) -> None:
        """A home has one service: what is claimed now was claimed by one that was killed. Where several share a
        database, such claims end by themselves after a while."""
        if self._context.db.is_sqlite:
            with self._context.db.write() as tx:
                tx.execute(update(runs).where(runs.c.claim_until_ns > 0).values(claim=None, claim_until_ns=0))

    def tick(self) -> float:
        """One look at everything that is due; answers for how many seconds nothing will be."""
        claim = new_id()
        rows = self._claim(claim)
        if rows:
            self._apply(claim, rows, self._observe(rows), self._prepare(rows))
        look_again_s = self._conductor.look()
        self._preparing.pump()
        self._end_abandoned()
        self._place()
        self._scale_and_sweep()
        return min(self._until_due(), _LONGEST_WAIT_S if look_again_s is None else look_again_s)

    def _claim(self, claim: str) -> list[RunRow]:
        """Take the runs that are due, for a while: what a killed service had claimed is free again after that."""
        now = self._context.clock()
        with self._context.db.read() as tx:
            keys = list(tx.execute(_DUE, {"now": now}).scalars())
        if not keys:
            return []
        with self._context.db.write() as tx:
            until = now + _CLAIM_S * SECOND
            mine = [{"old_key": key, "now": now, "claim": claim, "claim_until_ns": until} for key in keys]
            tx.execute(_TAKE, mine)
            return [RunRow.of(row) for row in tx.execute(_CLAIMED, {"keys": keys, "mine": claim})]

    def _observe(self, rows: list[RunRow]) -> dict[int, Observed]:
        """Ask each backend once about all its attempts, and have those stopped that should stop."""
        wanted: defaultdict[str, dict[str, int]] = defaultdict(dict)
        stopping: list[tuple[str, str]] = []
        with self._context.db.read() as tx:
            for row in rows:
                attempt = live_attempt(tx, row.key) if row.state in _WITH_AGENTS else None
                if attempt is not None and attempt.handle is not None:
                    wanted[attempt.backend][attempt.handle] = row.key
                    if attempt.stop not in (None, StopReason.DONE.value):
                        stopping.append((attempt.backend, attempt.handle))
        seen: dict[int, Observed] = {}
        for name, handles in wanted.items():
            with _engine_trouble(name):
                backend = self._context.backends[name]
                for handle in [handle for at, handle in stopping if at == name]:
                    backend.cancel(handle, _STOP_GRACE_S)
                for handle, observed in backend.observe(list(handles)).items():
                    seen[handles[handle]] = observed
        return seen

    def _prepare(self, rows: list[RunRow]) -> dict[int, Outcome]:
        return {row.key: self._preparing.look(row) for row in rows if row.spec and row.state in _BEFORE_THE_QUEUE}

    def _apply(self, claim: str, rows: list[RunRow], seen: dict[int, Observed], prepared: dict[int, Outcome]) -> None:
        for row in rows:
            if row.spec is None and RunState(row.state) is RunState.RUNNING:
                spool.drain(self._context, Scope(row.key, row.workspace_id, row.created_by))
        claimed = {row.key: row for row in rows}
        changed: list[int] = []
        with self._context.db.write() as tx:
            done = []
            for found in tx.execute(_CLAIMED, {"keys": list(claimed), "mine": claim}).all():
                row = RunRow.of(found)
                after = row
                if row.key in prepared and row.state in _BEFORE_THE_QUEUE:
                    after = self._preparing.apply(tx, row, prepared[row.key])
                after = advance(tx, self._context, after, seen.get(row.key))
                asked = row.due_ns != claimed[row.key].due_ns  # somebody wants it looked at again, at once
                due = row.due_ns if asked and after.state == row.state else self._next_due(after)
                done.append({"old_key": row.key, "claim": None, "claim_until_ns": 0, "due_ns": due})
                if after.events != row.events:
                    changed.append(row.key)
            if done:  # a run that ended meanwhile is claimed by nobody
                tx.execute(_LET_GO, done)
        for key in changed:
            self._context.hub.notify(key)

    def _next_due(self, row: RunRow) -> int | None:
        now, state = self._context.clock(), RunState(row.state)
        if state in TERMINAL:
            return None
        if row.spec is None and state is RunState.RUNNING:  # its spool: looked at less and less often
            age = now - (row.started_ns or row.created_ns)
            return now + max(2 * SECOND, min(age // 20, 120 * SECOND))
        deadline: int | None = row.deadline_ns
        return deadline if state in (RunState.NOT_STARTED, RunState.QUEUED) else now + _LOOK_NS

    def _end_abandoned(self) -> None:
        """Attempts that were ended by us or by a user, not by their agents: nothing of them may live on."""
        with self._context.db.read() as tx:
            abandoned = tx.execute(_ABANDONED).all()
        swept = []
        for attempt in abandoned:
            with _engine_trouble(attempt.backend):
                if attempt.handle is not None:
                    self._context.backends[attempt.backend].cancel(attempt.handle, 0)
                swept.append({"old_id": attempt.attempt_id, "swept": True})
        if swept:
            with self._context.db.write() as tx:
                tx.execute(_SWEPT, swept)

    def _place(self) -> None:
        """Begin attempts for queued runs whose nodes are free, and place those that are not placed yet."""
        with self._context.db.read() as tx:
            queued = tx.execute(_ANY_QUEUED).first()
            waiting = placing.unplaced(tx)
        if queued is not None:
            with self._context.db.write() as tx:
                waiting += placing.begin_attempts(tx, self._context)
        handles: dict[str, str] = {}
        for attempt in waiting:
            try:
                backend = self._context.backends[attempt.backend]
                plan = backend.plan(placing.placement_of(self._context, attempt))
                handles[attempt.attempt_id] = backend.submit(plan)
            except BackendAway as error:  # placed when it answers again; the run's deadline says for how long
                log.warning("attempt %s waits: %s", attempt.attempt_id, error)
            except (TrainyardError, OSError) as error:
                self._refused(attempt.attempt_id, error)
        if handles:
            with self._context.db.write() as tx:
                placing.record_handles(tx, handles)

    def _refused(self, attempt_id: str, error: Exception) -> None:
        log.warning("attempt %s could not be placed: %s", attempt_id, error)
        message = f"The run could not be placed: {error}"
        with self._context.db.write() as tx:
            run_key = tx.execute(select(attempts.c.run_key).where(attempts.c.attempt_id == attempt_id)).scalar_one()
            row = run_row_by_key(tx, run_key)
            writer = Writer(tx, self._context.authenticator, self._context.clock(), "service")
            canceled = RunState(row.state) is RunState.CANCEL_REQUESTED
            if canceled:
                writer.move(row, RunState.CANCELED, "Canceled before it was placed")
            else:
                writer.move(row, RunState.FAILED, message, RunError("BackendRefused", message))
        self._context.hub.notify(run_key)

    def _scale_and_sweep(self) -> None:
        """Let idle nodes go; remove the working folders of attempts that are over."""
        now = self._context.clock()
        if now < self._next_sweep_ns:
            return
        with self._context.db.write() as tx:
            due = computes.scale(tx, now)
        self._next_sweep_ns = min(due or now + _SWEEP_NS, now + _SWEEP_NS)
        work = self._context.settings.folder("work")
        names = os.listdir(work) if os.path.isdir(work) else []
        with self._context.db.read() as tx:
            over = select(attempts.c.attempt_id).where(
                attempts.c.attempt_id.in_(names), attempts.c.ended_ns < now - _SWEEP_NS
            )
            ended = list(tx.execute(over).scalars())
        for name in ended:
            shutil.rmtree(os.path.join(work, name), ignore_errors=True)

    def _until_due(self) -> float:
        with self._context.db.read() as tx:
            due = tx.execute(_NEXT_DUE).scalar()
        next_ns = min(due or self._next_sweep_ns, self._next_sweep_ns)
        longest = LOOK_S if self._preparing.busy else _LONGEST_WAIT_S
        return max(0.0, min((next_ns - self._context.clock()) / SECOND, longest))


def rest_s(took_s: float, ago_s: float) -> float:
    """How long a wish waits for others to come, by how long the last look took and how long ago it ended: after a quiet
    while not at all, in a flood of wishes so long that looking takes no more than half of the time."""
    return max(0.0, min(took_s, _LONGEST_GATHER_S) - ago_s)


@contextlib.contextmanager
def _engine_trouble(backend: str) -> Iterator[None]:
    """An engine that does not answer holds up nothing else; it is asked again at the next look."""
    try:
        yield
    except (TrainyardError, OSError) as error:
        log.warning("backend %s: %s", backend, error)
