"""Makes wishes about services true: builds and lays out what was deployed, writes plans, starts fronts, watches what
they say of themselves, starts dead ones again, ends those that were deleted.

One thread looks at all services; what takes long (an environment, a large model) has a thread of its own. A front needs
none of this to go on serving."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update
from sqlalchemy.exc import SQLAlchemyError

from trainyard.contract.codec import to_json
from trainyard.contract.endpoints import OperationState, VersionSpec
from trainyard.contract.errors import TrainyardError
from trainyard.contract.serving import ServicePlan, ServiceState, ServiceStatus
from trainyard.server.context import Context
from trainyard.server.endpoints import layout
from trainyard.server.endpoints.decide import (
    SECOND,
    STEPS,
    Revision,
    Step,
    Verdict,
    judge,
    kept_ns,
    planned,
    same_plan,
)
from trainyard.server.endpoints.fronts import Front
from trainyard.server.endpoints.making import Made, make
from trainyard.server.endpoints.plans import Plans
from trainyard.server.endpoints.records import current, revision, service_by_id, spec_of, version_rows
from trainyard.server.endpoints.tables import service_tokens, service_versions, services

log = logging.getLogger("trainyard.services")

_QUICK_S = 0.03  # between two looks while something changes
_STEADY_S = 1.0
_NOTHING_S = 5.0
_STOP_GRACE_S = 10.0
_TRIAL_GRACE_S = 60.0  # beyond the front's own limit for init()
_TELL_AGAIN_S = 1.0
_SHORT_LIFE_S = 10.0
_LONGEST_PAUSE_S = 20.0  # between two starts of one that does not live
_MOST_DEATHS = 5  # of a front that never got far, one after the other


@dataclass
class _Known:
    """What is remembered of a service between looks; a restart starts anew."""

    started_at: float = 0.0
    deaths: int = 0  # in a row, each shortly after its start
    told_at: float = 0.0
    ending: bool = False


class Keeper(threading.Thread):
    def __init__(self, context: Context) -> None:
        super().__init__(name="keeper", daemon=True)
        self._context = context
        self._stopping = threading.Event()
        self._known: dict[str, _Known] = {}
        self._making: dict[int, threading.Thread] = {}
        self._holds: dict[str, int] = {}  # fingerprint → descriptor
        self._plans = Plans(context)

    def stop(self) -> None:
        """Fronts go on; so do builders, which are found again."""
        self._stopping.set()
        self._context.wake_services.set()
        self.join(timeout=10)

    def run(self) -> None:
        while not self._stopping.is_set():
            self._context.wake_services.clear()
            try:
                wait_s = self.tick()
            except (SQLAlchemyError, TrainyardError, OSError):
                log.exception("a look at the services failed; trying again in a second")
                wait_s = 1.0
            self._context.wake_services.wait(wait_s)

    def tick(self) -> float:
        """One look at everything; answers for how many seconds nothing needs one."""
        with self._context.services_lock:
            return _NOTHING_S if self._context.services_end.is_set() else self._look_at_all()

    def _look_at_all(self) -> float:
        with self._context.db.read() as tx:
            rows = tx.execute(select(services)).all()
            versions: dict[str, list[Row[Any]]] = {}
            for version in version_rows(tx, [row.service_id for row in rows]):
                versions.setdefault(version.service_id, []).append(version)
        busy = False
        for row in rows:
            if self._stopping.is_set():
                break
            try:
                busy |= self._look(row, versions.get(row.service_id, []))
            except (TrainyardError, OSError) as error:
                log.warning("service %s: %s", row.name, error)
        if not rows:
            return _NOTHING_S
        return _QUICK_S if busy or self._making else _STEADY_S

    def front(self, service_id: str) -> Front:
        return Front(layout.service_folder(self._context.settings.home, service_id))

    def _look(self, row: Row[Any], versions: list[Row[Any]]) -> bool:
        """Whether it is worth looking again soon."""
        known = self._known.setdefault(row.service_id, _Known())
        front = self.front(row.service_id)
        if row.deleting:
            if not known.ending:
                known.ending = True
                threading.Thread(target=self._end, args=(row, front), name="service-end", daemon=True).start()
            return True
        for version in current(versions).values():
            if Step(version.step) in (Step.WAITING, Step.BUILDING) and version.key not in self._making:
                self._begin_making(row, version)
        revisions = [revision(version) for version in versions]
        self._hold(versions)
        self._drive(row, revisions, front, known)
        self._overdue(revisions, versions, front)
        self._clear_retired(row, versions)
        front.shorten_log()
        return bool(row.operation == OperationState.RUNNING.value)

    # Making

    def _begin_making(self, row: Row[Any], version: Row[Any]) -> None:
        if not self._move(version.key, Step(version.step), Step.BUILDING):
            return  # it was made since this look began
        worker = threading.Thread(target=self._make, args=(row, version), name=f"make-{version.key}", daemon=True)
        self._making[version.key] = worker
        worker.start()

    def _make(self, row: Row[Any], version: Row[Any]) -> None:
        try:
            self._made(version, make(self._context, row, version))
        except (TrainyardError, OSError) as error:
            said = error.message if isinstance(error, TrainyardError) else f"It could not be laid out: {error}"
            self._move(version.key, Step.BUILDING, Step.FAILED, error=said)
        except Exception:
            log.exception("making version %s of %s failed", version.name, row.name)
            said = "The service failed at this. The end of its service.log has the details."
            self._move(version.key, Step.BUILDING, Step.FAILED, error=said)
        finally:
            self._making.pop(version.key, None)
            self._context.wake_services.set()

    def _made(self, version: Row[Any], made: Made) -> None:
        if made.hold is not None and made.fingerprint is not None:
            if made.fingerprint in self._holds:
                os.close(made.hold)
            else:
                self._holds[made.fingerprint] = made.hold
        values = {
            "scorer": to_json(made.scorer),
            "fingerprint": made.fingerprint,
            "warnings": list(made.warnings),
        }
        self._move(version.key, Step.BUILDING, Step.TRIAL, **values)

    def _move(self, key: int, now: Step, to: Step, **values: Any) -> bool:
        """Only if it is still where it was: somebody may have replaced it meanwhile."""
        if to is not now and to not in STEPS[now]:
            return False
        here = (service_versions.c.key == key) & (service_versions.c.step == now.value)
        changed = {"step": to.value, "modified_ns": self._context.clock(), **values}
        with self._context.db.write() as tx:
            return bool(tx.execute(update(service_versions).where(here).values(**changed)).rowcount)

    def _hold(self, versions: list[Row[Any]]) -> None:
        """After a restart: nobody may remove what services run in."""
        from trainyard.environments.store import Store

        for version in versions:
            if version.fingerprint and version.fingerprint not in self._holds and version.step != Step.RETIRED.value:
                self._holds[version.fingerprint] = Store(self._context.settings.home).hold(version.fingerprint)

    # Driving the front

    def _drive(self, row: Row[Any], revisions: list[Revision], front: Front, known: _Known) -> None:
        alive = front.alive()
        if not planned(revisions):
            if alive:
                front.stop(_STOP_GRACE_S)
            self._apply(row, judge(revisions, None, 0, alive=False), None)
            return
        on_disk = front.plan()
        wanted = self._plans.of(row, planned(revisions))
        if on_disk is None or not same_plan(wanted, on_disk):
            wanted = replace(wanted, generation=on_disk.generation + 1 if on_disk is not None else 1)
            front.write_plan(wanted)
            if alive:
                front.tell()
                known.told_at = time.monotonic()
        else:
            wanted = on_disk
        status = front.status()
        if not alive and not _just_refused(status, wanted.generation, revisions):
            alive = self._start(row, revisions, front, known)
        if alive and status is not None and status.pid != front.pid():
            status = None  # of one that is gone
        self._tell_again(front, known, status, wanted.generation)
        self._apply(row, judge(revisions, status, wanted.generation, alive=alive), status)

    def _start(self, row: Row[Any], revisions: list[Revision], front: Front, known: _Known) -> bool:
        now = time.monotonic()
        if known.started_at:
            age = now - known.started_at
            if age < min(_LONGEST_PAUSE_S, 0.1 * 2**known.deaths):
                return False  # a pause that grows
            known.deaths = known.deaths + 1 if age < _SHORT_LIFE_S + _LONGEST_PAUSE_S else 0
        if known.deaths >= _MOST_DEATHS and any(it.step is Step.TRIAL for it in revisions):
            end = front.log_tail(15)
            for it in revisions:
                if it.step is Step.TRIAL:
                    self._move(
                        it.key, Step.TRIAL, Step.FAILED, error=f"Its front process ended again and again:\n{end}"
                    )
            known.deaths = 0
            return False
        self._restore(row, revisions)
        known.started_at = now
        settings = self._context.settings
        front.start(layout.front_variables(settings.variables, settings.home))
        log.info("started the front of service %s", row.name)
        return True

    def _restore(self, row: Row[Any], revisions: list[Revision]) -> None:
        """Somebody may have removed its files while it was down."""
        home = self._context.settings.home
        for it in planned(revisions):
            folder = layout.revision_folder(home, row.service_id, it.key)
            if not os.path.isdir(folder):
                layout.lay_out(self._context.blobs, self._spec(it.key), folder)

    def _spec(self, key: int) -> VersionSpec:
        with self._context.db.read() as tx:
            return spec_of(tx.execute(select(service_versions).where(service_versions.c.key == key)).one())

    def _tell_again(self, front: Front, known: _Known, status: ServiceStatus | None, plan: int) -> None:
        """A front that was just starting may have missed the word."""
        late = status is not None and status.generation < plan
        if late and time.monotonic() - known.told_at > _TELL_AGAIN_S:
            front.tell()
            known.told_at = time.monotonic()

    # Telling the rows

    def _apply(self, row: Row[Any], verdict: Verdict, status: ServiceStatus | None) -> None:
        url = status.url if status is not None and status.url else row.url
        error = verdict.error or (None if verdict.operation is OperationState.SUCCEEDED else row.error)
        if error is None and verdict.operation is OperationState.FAILED:
            error = self._why(row)
        said = {"state": verdict.state.value, "operation": verdict.operation.value, "url": url, "error": error}
        same = all(getattr(row, name) == value for name, value in said.items())
        if same and not verdict.steps and not verdict.errors and not verdict.workers:
            return
        now = self._context.clock()
        with self._context.db.write() as tx:
            for key, step in verdict.steps.items():
                self._note(tx, key, step=step.value, error=verdict.errors.get(key), modified_ns=now)
            for key, workers in verdict.workers.items():
                self._note(tx, key, workers=workers)
            # a wish that came since is not talked over: the next look is about it
            here = (services.c.service_id == row.service_id) & (services.c.generation == row.generation)
            if not same:
                tx.execute(update(services).where(here).values(generation=row.generation + 1, **said))

    def _note(self, tx: Connection, key: int, **values: Any) -> None:
        tx.execute(update(service_versions).where(service_versions.c.key == key).values(**values))

    def _why(self, row: Row[Any]) -> str | None:
        with self._context.db.read() as tx:
            newest = current(version_rows(tx, [row.service_id]))
        return next((it.error for it in newest.values() if it.error), None)

    def _overdue(self, revisions: list[Revision], versions: list[Row[Any]], front: Front) -> None:
        """A front that never says how a trial went."""
        plan = front.plan()
        limit = (plan or ServicePlan).init_timeout_s + _TRIAL_GRACE_S
        since = {version.key: version.modified_ns for version in versions}
        for it in planned(revisions):
            if it.step is Step.TRIAL and self._context.clock() - since[it.key] > limit * SECOND:
                said = f"It did not become healthy within {limit:.0f} s. The end of its log:\n{front.log_tail(15)}"
                self._move(it.key, Step.TRIAL, Step.FAILED, error=said)

    # Ends

    def _clear_retired(self, row: Row[Any], versions: list[Row[Any]]) -> None:
        now, home = self._context.clock(), self._context.settings.home
        for version in versions:
            if version.step == Step.RETIRED.value and now - version.modified_ns > kept_ns(spec_of(version).scaling):
                shutil.rmtree(layout.revision_folder(home, row.service_id, version.key), ignore_errors=True)
                with self._context.db.write() as tx:
                    tx.execute(delete(service_versions).where(service_versions.c.key == version.key))

    def _end(self, row: Row[Any], front: Front) -> None:
        try:
            if not front.stop(_STOP_GRACE_S):
                log.warning("the front of service %s does not end; trying again", row.name)
                return
            front.remove()
            with self._context.db.write() as tx:
                for table in (service_versions, service_tokens, services):
                    tx.execute(delete(table).where(table.c.service_id == row.service_id))
        except (SQLAlchemyError, OSError):
            log.exception("ending service %s failed; trying again", row.name)
        finally:
            known = self._known.get(row.service_id)
            if known is not None:
                known.ending = False
            self._context.wake_services.set()


def _just_refused(status: ServiceStatus | None, plan: int, revisions: list[Revision]) -> bool:
    """It could not listen, say; what is tried for the first time fails with that instead of being tried again."""
    if status is None or status.generation != plan or status.state is not ServiceState.FAILED or status.scorers:
        return False
    return any(it.step is Step.TRIAL for it in planned(revisions))


def end_all(context: Context) -> int:
    """End every front of this home, for good: none is started by this process any more. The services stay deployed, and
    the next process brings them back. Answers how many lived."""
    context.services_end.set()
    with context.services_lock:
        return _end_fronts(context)


def _end_fronts(context: Context) -> int:
    with context.db.read() as tx:
        rows = tx.execute(select(services.c.service_id)).scalars().all()
    fronts = [Front(layout.service_folder(context.settings.home, service_id)) for service_id in rows]
    living = [front for front in fronts if front.alive()]
    threads = [threading.Thread(target=front.stop, args=(_STOP_GRACE_S,)) for front in living]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(living)


def is_gone(tx: Connection, service_id: str) -> bool:
    return service_by_id(tx, service_id) is None
