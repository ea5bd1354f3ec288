"""Conducts the open sweeps: called by the reconciler at each of its looks.

A decision and what it makes true (children, their rows, the count of them, the lines of the log) are one transaction,
and a child's run id is made of the sweep's and its index: whenever the service is killed, each index has one child or
none.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from trainyard.contract.errors import TrainyardError
from trainyard.contract.runs import RunError
from trainyard.contract.states import TERMINAL, RunState
from trainyard.contract.sweeps import SWEEP_LOG, SweepSpec
from trainyard.server.computes import service as computes
from trainyard.server.context import Context
from trainyard.server.identity.service import Kind, Principal
from trainyard.server.metrics import service as metrics
from trainyard.server.runs import conducted
from trainyard.server.runs import service as runs
from trainyard.server.runs.decide import SECOND
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import RunRow, run_row_by_key
from trainyard.server.sweeps import journal
from trainyard.server.sweeps.children import new_child
from trainyard.server.sweeps.decide import Decision, End, Facts, Start, decide, room_of
from trainyard.server.sweeps.known import Child, Known, forget_closed
from trainyard.server.sweeps.service import measured
from trainyard.server.sweeps.tables import sweep_children, sweeps

log = logging.getLogger("trainyard.sweeps")

JUDGE_S = 0.5  # between two looks at what children of a sweep with a policy have logged
_LOOK_S = 2.0
_SHARE = 10  # of the time between two looks, one part at most is spent looking
_SILENCE_NS = 30 * SECOND  # a run that logs other metrics for so long should have logged the primary one
_FAILED_AT_FIRST = 3

_OPEN = select(sweeps).where(sweeps.c.open.is_(True)).order_by(sweeps.c.run_key)
_WRITE = update(sweeps).where(
    sweeps.c.run_key == bindparam("old_key"), sweeps.c.open.is_(True), sweeps.c.started == bindparam("old_started")
)
_ADD = insert(sweep_children)
_RUN_KEYS = select(sweep_children.c.run_key).where(sweep_children.c.sweep_key == bindparam("old_key"))
_CLOSE = update(sweep_children).where(
    sweep_children.c.sweep_key == bindparam("old_key"), sweep_children.c.number == bindparam("old_index")
)


class Stale(Exception):
    """Something changed between the look and the transaction: look again."""


@dataclass
class Outcome:
    """What one transaction is going to make true, and what it says about it."""

    decision: Decision
    over: list[Child]
    lines: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Conductor:
    """Owned by the reconciler's thread; nobody else calls it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[int, Known] = {}

    def look(self) -> float | None:
        """Take every step that is due; answers in how many seconds to look again, None when no sweep is open."""
        with self._context.db.read() as tx:
            rows = tx.execute(_OPEN).all()
        forget_closed(self._known, (row.run_key for row in rows))
        waits = [self._conduct(row) for row in rows]
        return min(waits, default=None)

    def _conduct(self, row: Row[Any]) -> float:
        began = time.monotonic()
        try:
            self._step(row)
        except Stale:
            self._known.pop(row.run_key, None)
            return 0.0
        except TrainyardError as error:
            self._known.pop(row.run_key, None)
            self._give_up(row, error)
            return _LOOK_S
        except Exception:
            # one sweep that cannot be conducted must not hold up all other runs
            self._known.pop(row.run_key, None)
            log.exception("sweep %s could not be looked at", row.run_key)
            return _LOOK_S
        if not self._known[row.run_key].judges:
            return _LOOK_S
        # judging runs with very many reports must not take the reconciler's time from the others
        return max(JUDGE_S, _SHARE * (time.monotonic() - began))

    def _step(self, row: Row[Any]) -> None:
        now = self._context.clock()
        with self._context.db.read() as tx:
            known = self._known.get(row.run_key)
            if known is None:
                known = self._known[row.run_key] = Known.load(tx, row)
                self._write_log(row.run_key, row.log_size, row.log_tail)
            elif len(known.trials) != row.started:
                known.take_children(tx, row.started)
            parent = run_row_by_key(tx, row.run_key)
            over = known.look(tx)
            outcome = Outcome(Decision(), over)
            self._tell_ends(known, outcome)
            for child in over:
                assert child.seen is not None
                known.close(child.index, child.seen, child.value)
            self._tell_silence(tx, row, known, outcome, now)
            facts = self._facts(tx, row, parent, known, now)
        outcome.decision = decide(facts, known.sampler, known.policy)
        if outcome.over or outcome.warnings or outcome.decision != Decision():
            self._apply(row, parent, known, outcome, now)

    def _facts(self, tx: Connection, row: Row[Any], parent: RunRow, known: Known, now: int) -> Facts:
        ending = RunState(parent.state) in (*TERMINAL, RunState.CANCEL_REQUESTED)
        run = known.spec.run
        fits = 1 if ending else computes.room(tx, row.workspace_id, run.target, run.nodes)
        return Facts(
            state=RunState(parent.state),
            now_ns=now,
            until_ns=row.created_ns + known.spec.max_duration_minutes * 60 * SECOND,
            total=row.total,
            started=row.started,
            room=room_of(known.spec, known.sampler, fits),
            history=known.history,
            open=known.states(),
            ends=known.ends,
            resumed=known.resumed,
            error=known.error,
        )

    def _apply(self, row: Row[Any], seen: RunRow, known: Known, outcome: Outcome, now: int) -> None:
        decision = outcome.decision
        stopped: list[int] = []
        with self._context.db.write() as tx:
            tail = self._write_row(tx, row, known, outcome, now)
            parent = run_row_by_key(tx, row.run_key)
            if parent.state != seen.state:
                raise Stale
            for child in outcome.over:
                changed = {"over": True, "best": child.value.best}
                tx.execute(_CLOSE, {"old_key": row.run_key, "old_index": child.index, **changed})
            for warning in outcome.warnings:
                conducted.warn(tx, parent, warning)
                parent = run_row_by_key(tx, row.run_key)
            stopped = self._stop(tx, known, decision, now)
            made = [self._start(tx, parent, known, start) for start in decision.starts]
            if decision.end is not None:
                self._end(tx, parent, known, decision.end, now)
        for start, (run_key, run_id) in zip(decision.starts, made, strict=True):
            known.add(start.index, run_key, run_id, start.parameters)
        self._write_log(row.run_key, *tail)
        for key in (row.run_key, *stopped):
            self._context.hub.notify(key)

    def _write_row(self, tx: Connection, row: Row[Any], known: Known, outcome: Outcome, now: int) -> tuple[int, str]:
        """Claims the step: who comes second finds another count. Answers where the log's new lines begin, and them."""
        decision = outcome.decision
        for stop in decision.stops:
            outcome.lines.append(f"{journal.number(stop.index)} stopped    {stop.why}")
        for start in decision.starts:
            outcome.lines.append(journal.started(start.index, start.parameters, _begins_with(known.spec, start)))
        if decision.end is not None:
            outcome.lines.append(decision.end.reason)
        size = row.log_size + len(row.log_tail.encode())
        tail = "".join(journal.line(now, text) for text in outcome.lines)
        values: dict[str, Any] = {
            "started": row.started + len(decision.starts),
            "open": decision.end is None,
            "said": [*row.said, *outcome.said],
            "log_size": size,
            "log_tail": tail,
        }
        if tx.execute(_WRITE, {"old_key": row.run_key, "old_started": row.started, **values}).rowcount != 1:
            raise Stale
        return size, tail

    def _stop(self, tx: Connection, known: Known, decision: Decision, now: int) -> list[int]:
        """Ask for the end of children; answers the keys of the runs that it changed."""
        policy = Writer(tx, self._context.authenticator, now, f"the {known.spec.policy} policy")
        sweep = Writer(tx, self._context.authenticator, now, "its sweep")
        changed = []
        for stop in decision.stops:
            changed += runs.cancel_run(policy, run_row_by_key(tx, known.open[stop.index].run_key))
            tx.execute(_CLOSE, {"old_key": known.key, "old_index": stop.index, "stopped": stop.why})
        for index in decision.cancels:
            changed += runs.cancel_run(sweep, run_row_by_key(tx, known.open[index].run_key))
        return changed

    def _start(self, tx: Connection, parent: RunRow, known: Known, start: Start) -> tuple[int, str]:
        spec = known.spec
        resumes = spec.resume_child_runs[start.resumes] if start.resumes is not None else None
        begins = known.run_ids[start.outputs_of] if start.outputs_of is not None else None
        new = new_child(spec, known.experiment, parent.run_id, start.index, start.parameters, resumes, begins)
        # a sweep's owner may do what the sweep was accepted for
        owner = Principal(parent.created_by, Kind.OWNER, parent.workspace_id)
        made = runs.accept_run(tx, self._context, owner, parent.workspace_id, new)
        tx.execute(
            _ADD,
            {
                "sweep_key": known.key,
                "number": start.index,
                "workspace_id": parent.workspace_id,
                "created_by": parent.created_by,
                "run_key": made.key,
                "run_id": made.run_id,
                "parameters": start.parameters,
                "outputs_from": resumes or begins,
                "over": False,
            },
        )
        return made.key, made.run_id

    def _end(self, tx: Connection, parent: RunRow, known: Known, end: End, now: int) -> None:
        found = {"best_metric_status": "Succeeded" if known.best else "NoMetricLogged"}
        if known.best is not None:
            found |= {"score": repr(known.best_value), "best_child_run_id": known.run_ids[known.best[1]]}
        conducted.note(tx, parent, found)
        if end.state is not None:
            writer = Writer(tx, self._context.authenticator, now, "service")
            writer.move(run_row_by_key(tx, known.key), end.state, end.reason, end.error)

    def _give_up(self, row: Row[Any], error: TrainyardError) -> None:
        """What its children need is gone: the target, or the snapshot. Those that run are ended."""
        now = self._context.clock()
        said = f"The sweep cannot go on: {error.message}"
        with self._context.db.write() as tx:
            parent = run_row_by_key(tx, row.run_key)
            if RunState(parent.state) not in TERMINAL:
                writer = Writer(tx, self._context.authenticator, now, "service")
                writer.move(parent, RunState.FAILED, said, RunError(type(error).__name__, said))
        self._context.hub.notify(row.run_key)

    def _tell_ends(self, known: Known, outcome: Outcome) -> None:
        best = known.best[0] if known.best is not None else None
        for child in outcome.over:
            assert child.seen is not None
            value = child.value
            score = known.history.score(value.best) if value.best is not None else None
            leads = score is not None and (best is None or score > best)
            best = score if leads else best
            seen, metric = child.seen, known.spec.metric
            said = journal.ended(child.index, seen.state, metric, value.best, leads, value.reports, seen.error)
            outcome.lines.append(said)

    def _tell_silence(self, tx: Connection, row: Row[Any], known: Known, outcome: Outcome, now: int) -> None:
        """What will not get better by itself is said while there is time to do something about it."""
        all_failed = known.ends.total() == known.ends[RunState.FAILED] >= _FAILED_AT_FIRST
        if all_failed and "failing" not in row.said and known.error is not None:
            _warn(outcome, "failing", f"The first {known.ends.total()} children all failed. {known.error.message}")
        if "silent" in row.said or known.best is not None:
            return
        child, over = self._silent_child(known, outcome, now)
        if child is None or self._reported(tx, known):
            return
        names = {summary.name for summary in metrics.summaries(tx, [child.run_key])[child.run_key]}
        if over or names:
            _warn(outcome, "silent", journal.nobody_logs(known.spec.metric, child.run_id, names, over))

    def _silent_child(self, known: Known, outcome: Outcome, now: int) -> tuple[Child | None, bool]:
        """One that has completed, else one that has been running for a while, without a report."""
        for child in outcome.over:
            if child.seen is not None and child.seen.state is RunState.COMPLETED and not child.value.reports:
                return child, True
        for child in known.open.values():
            began = child.seen.started_ns if child.seen is not None else None
            if began is not None and now - began > _SILENCE_NS:
                return child, False
        return None, False

    def _reported(self, tx: Connection, known: Known) -> bool:
        """Whether any child, over or not, has logged the metric at all, be it NaN."""
        keys = tx.execute(_RUN_KEYS, {"old_key": known.key}).scalars()
        return any(value.reports for value in measured(tx, keys, known.spec.metric, known.spec.goal).values())

    def _write_log(self, run_key: int, offset: int, tail: str) -> None:
        """By offset: what is there already is not added again."""
        self._context.logs.append(run_key, 0, SWEEP_LOG, offset, tail.encode())


def _begins_with(spec: SweepSpec, start: Start) -> str | None:
    """The run whose outputs it begins with, as the log names it."""
    if start.resumes is not None:
        return spec.resume_child_runs[start.resumes]
    return None if start.outputs_of is None else f"#{start.outputs_of}"


def _warn(outcome: Outcome, what: str, sentence: str) -> None:
    outcome.said.append(what)
    outcome.warnings.append(sentence)
    outcome.lines.append(sentence)
