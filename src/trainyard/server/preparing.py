"""The Preparing step: a run gets its environment. One that is built already is there at once; else a builder process
is started or joined, and its log becomes the run's, from its first line."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from trainyard.contract import logs
from trainyard.contract.codec import from_json
from trainyard.contract.environments import LOCK_FILE
from trainyard.contract.errors import TrainyardError
from trainyard.contract.runs import EnvironmentSpec, RunError, RunFile
from trainyard.contract.states import RunState
from trainyard.environments.builders import Builder
from trainyard.environments.plan import Planner
from trainyard.environments.request import Request
from trainyard.environments.store import Built
from trainyard.server.context import Context
from trainyard.server.credentials import opened_environment
from trainyard.server.environments import service as environments
from trainyard.server.runs.decide import SECOND, Move
from trainyard.server.runs.files import add_files
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow
from trainyard.server.runs.tables import runs
from trainyard.server.scope import Scope
from trainyard.server.secrets import Secrets

log = logging.getLogger("trainyard.preparing")

LOOK_S = 0.05  # between two looks at builders at work
_AT_ONCE = 4  # builders; others wait for their turn
_SWEEP_NS = 600 * SECOND

_STILL = select(runs.c.key).where(runs.c.state.in_([RunState.NOT_STARTED.value, RunState.PREPARING.value]))
_DUE = update(runs).where(runs.c.key == bindparam("old_key"))


@dataclass(frozen=True)
class Ready:
    built: Built | None = None  # None: nothing had to be built
    lock: RunFile | None = None
    notes: tuple[str, ...] = ()  # sentences for the run's warnings


@dataclass(frozen=True)
class Waiting:
    fingerprint: str


@dataclass(frozen=True)
class Refused:
    error: TrainyardError


Outcome = Ready | Waiting | Refused


@dataclass
class _Build:
    builder: Builder
    runs: set[int] = field(default_factory=set)
    wishes: set[str] = field(default_factory=set)
    begun: bool = False


class Preparing:
    """Owned by the reconciler's thread; nobody else calls it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._planner = Planner(context.settings.home, context.settings.variables)
        self._secrets = Secrets.of_home(context.settings)
        self._builds: dict[str, _Build] = {}
        self._failed: dict[int | str, TrainyardError] = {}  # who waited, and has not been told yet
        self._sweep_at_ns = 0

    @property
    def busy(self) -> bool:
        return bool(self._builds)

    def look(self, row: RunRow) -> Outcome:
        """Where a run's environment is. Slow at times: call it with no transaction open."""
        assert row.spec is not None
        spec = from_json(EnvironmentSpec, row.spec["environment"])
        return self._outcome(row.key, spec, bool(row.spec.get("relax_pins")), row.created_ns)

    def apply(self, tx: Connection, row: RunRow, outcome: Outcome) -> RunRow:
        """Move a run that is NotStarted or Preparing to where its environment lets it be."""
        writer = Writer(tx, self._context.authenticator, self._context.clock(), "service")
        fresh = RunState(row.state) is RunState.NOT_STARTED
        if isinstance(outcome, Waiting):
            return writer.walk(row, [Move(RunState.PREPARING, "Building the environment")]) if fresh else row
        steps = [Move(RunState.PREPARING, "Preparing the environment")] if fresh else []
        if isinstance(outcome, Refused):
            error = RunError(type(outcome.error).__name__, outcome.error.message)
            return writer.walk(row, [*steps, Move(RunState.FAILED, outcome.error.message, error)])
        if outcome.built is not None or outcome.notes:
            row = self._note(tx, row, outcome)
        nodes = "1 node" if row.nodes == 1 else f"{row.nodes} nodes"
        return writer.walk(row, [*steps, Move(RunState.QUEUED, f"Waiting for {nodes} of {row.target!r}")])

    def pump(self) -> None:
        """Ship logs, tell those who waited, stop builders that nobody waits for."""
        self._take_wishes()
        for key, build in list(self._builds.items()):
            self._forget_the_gone(build)
            if not (build.runs or build.wishes):
                log.info("nobody waits for environment %s any more: its builder is stopped", key)
                build.builder.stop()
                del self._builds[key]
                continue
            if not build.begun:
                continue
            outcome = build.builder.poll()
            self._ship(key, build)
            if outcome is not None:
                self._ended(key, build, outcome)
        self._begin_next()
        self._sweep()

    def close(self) -> None:
        """The service ends: builders that somebody waits for go on, and are found again."""
        for build in self._builds.values():
            self._forget_the_gone(build)
            if not build.runs:
                build.builder.stop()

    def _outcome(self, who: int | str, spec: EnvironmentSpec, relax: bool, since_ns: int) -> Outcome:
        if (failed := self._failed.pop(who, None)) is not None:
            return Refused(failed)
        store = self._planner.store
        try:
            spec = opened_environment(spec, self._secrets)
            notes = self._planner.notes(spec)
            request = self._planner.plan(spec, relax=relax, read_lock=self._context.blobs.read)
            if request is None:
                return Ready(notes=notes)
            if (built := store.find(request.key)) is not None:
                store.touch(request.key)
                data = built.lock.encode()
                lock = RunFile(LOCK_FILE, len(data), self._context.blobs.put_bytes(data))
                return Ready(built, lock, (*notes, *built.notes))
        except TrainyardError as error:
            return Refused(error)
        failure = store.failure(request.key)
        unheard = failure is not None and failure.time_ns >= since_ns and request.key not in self._builds
        if failure is not None and unheard and not store.is_building(request.key):
            return Refused(failure.error)  # it ended while no service was there to hear it
        self._join(who, request)
        return Waiting(request.key)

    def _join(self, who: int | str, request: Request) -> None:
        build = self._builds.get(request.key)
        if build is None:
            builder = Builder(self._planner.store, request, self._context.settings.variables)
            build = self._builds[request.key] = _Build(builder)
        if isinstance(who, int):
            build.runs.add(who)
        else:
            build.wishes.add(who)
        self._begin_next()

    def _begin_next(self) -> None:
        at_work = sum(build.begun for build in self._builds.values())
        for build in self._builds.values():
            if not build.begun and at_work < _AT_ONCE:
                build.begun = True
                at_work += 1
                build.builder.begin()

    def _note(self, tx: Connection, row: RunRow, ready: Ready) -> RunRow:
        """What it was built from and into becomes part of the run."""
        spec: dict[str, Any] = row.spec or {}
        if ready.built is not None and ready.lock is not None:
            environment = {**spec["environment"], "fingerprint": ready.built.key, "lock": ready.lock.digest}
            spec = {**spec, "environment": environment}
            add_files(tx, self._context, Scope(row.key, row.workspace_id, row.created_by), [ready.lock])
        warnings = [*row.warnings, *(note for note in ready.notes if note not in row.warnings)]
        tx.execute(_DUE, {"old_key": row.key, "spec": spec, "warnings": warnings})
        return replace(row, spec=spec, warnings=warnings)

    def _take_wishes(self) -> None:
        """Builds that were asked for without a run."""
        with self._context.db.read() as tx:
            wishes = environments.wishes(tx)
        waiting = {build_id for build in self._builds.values() for build_id in build.wishes}
        for wish in wishes:
            if wish.build_id in waiting:
                continue
            outcome = self._outcome(wish.build_id, wish.spec, wish.relax, wish.created_ns)
            now = self._context.clock()
            with self._context.db.write() as tx:
                if isinstance(outcome, Waiting):
                    environments.note_fingerprint(tx, wish.build_id, outcome.fingerprint)
                elif isinstance(outcome, Refused):
                    environments.build_failed(tx, wish.build_id, outcome.error, now)
                else:
                    built, lock = outcome.built, outcome.lock.digest if outcome.lock else None
                    key, notes = (built.key, built.notes) if built else (None, ())
                    environments.build_succeeded(tx, wish.build_id, key, lock, notes, now)

    def _forget_the_gone(self, build: _Build) -> None:
        if build.runs:
            with self._context.db.read() as tx:
                still = set(tx.execute(_STILL.where(runs.c.key.in_(build.runs))).scalars())
            build.runs &= still

    def _ship(self, key: str, build: _Build) -> None:
        store, log_store = self._planner.store, self._context.logs
        for run_key in build.runs:
            have = log_store.acked(run_key, 0, logs.IMAGE_BUILD)
            while data := store.read_log(key, have):
                have = log_store.append(run_key, 0, logs.IMAGE_BUILD, have, data)

    def _ended(self, key: str, build: _Build, outcome: Built | TrainyardError) -> None:
        del self._builds[key]
        if isinstance(outcome, TrainyardError):
            self._failed |= dict.fromkeys([*build.runs, *build.wishes], outcome)
        if build.runs:
            due = [{"old_key": run_key, "due_ns": self._context.clock()} for run_key in build.runs]
            with self._context.db.write() as tx:
                tx.execute(_DUE, due)
        self._sweep_at_ns = 0
        self._context.wake.set()

    def _sweep(self) -> None:
        now = self._context.clock()
        if now >= self._sweep_at_ns:
            self._sweep_at_ns = now + _SWEEP_NS
            self._planner.store.sweep(self._context.settings.environments_limit, log.info, frozenset(self._builds))
