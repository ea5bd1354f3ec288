"""The only place that writes a run's state. Every move is a row in its history, in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from trainyard.contract.codec import to_json
from trainyard.contract.errors import IllegalMove
from trainyard.contract.runs import MAX_DURATION_S, RunError
from trainyard.contract.states import TERMINAL, RunState, move, restart
from trainyard.server.computes import service as computes
from trainyard.server.identity.service import Authenticator
from trainyard.server.runs.decide import DEADLINES_S, RUNNING_MARGIN_S, SECOND, Move
from trainyard.server.runs.records import RunRow
from trainyard.server.runs.tables import attempts, run_events, runs

_UPDATE = update(runs).where(
    runs.c.key == bindparam("old_key"), runs.c.state == bindparam("old_state"), runs.c.events == bindparam("old_events")
)
_NOTE = insert(run_events)
_ALIVE = select(attempts.c.attempt_id).where(attempts.c.run_key == bindparam("key"), attempts.c.ended_ns.is_(None))
_END = update(attempts).where(attempts.c.attempt_id == bindparam("old_id"))


@dataclass(frozen=True)
class Writer:
    """Moves runs within one transaction, at one time, in somebody's name."""

    tx: Connection
    authenticator: Authenticator
    now_ns: int
    actor: str

    def move(self, row: RunRow, to: RunState, reason: str, error: RunError | None = None) -> RunRow:
        """The run's row after the move; IllegalMove when the table does not allow it or somebody else was quicker."""
        return self.walk(row, [Move(to, reason, error)])

    def walk(self, row: RunRow, steps: Sequence[Move], *, swept: bool = False, started_ns: int | None = None) -> RunRow:
        """Several moves at once, each with its line in the history. `swept`: no agent is left to be ended.
        `started_ns`: when its processes were started, which a short run is told only with their end."""
        after, passed = row, []
        for step in steps:
            state = move(row.run_id, RunState(after.state), step.to)
            after = replace(after, state=state.value, reason=step.reason, events=after.events + 1)
            if state in (RunState.RUNNING, RunState.FINALIZING) and after.started_ns is None:
                after = replace(after, started_ns=started_ns or (self.now_ns if state is RunState.RUNNING else None))
            if step.error is not None:
                after = replace(after, error=to_json(step.error))
            passed.append(after)
        if RunState(after.state) in TERMINAL:
            after = replace(after, ended_ns=self.now_ns, due_ns=None, claim=None)
            self._end_attempts(row, swept)
        after = replace(after, deadline_ns=self._deadline(row, RunState(after.state)))
        self._write(row, after, passed)
        return after

    def restart(self, row: RunRow, reason: str, *, swept: bool = False) -> RunRow:
        """The same run, queued again for its next attempt."""
        state = restart(row.run_id, RunState(row.state))
        self._end_attempts(row, swept)
        deadline = self._deadline(row, state)
        after = replace(
            row, state=state.value, reason=reason, events=row.events + 1, deadline_ns=deadline, due_ns=deadline
        )
        self._write(row, after, [after])
        return after

    def begin_attempt(self, row: RunRow, number: int, reason: str) -> RunRow:
        """QUEUED → STARTING as attempt `number`."""
        state = move(row.run_id, RunState(row.state), RunState.STARTING)
        after = replace(row, state=state.value, reason=reason, attempt=number, events=row.events + 1)
        after = replace(after, deadline_ns=self._deadline(row, state), due_ns=self.now_ns + SECOND)
        self._write(row, after, [after])
        return after

    def note(self, row: RunRow, reason: str) -> RunRow:
        """A line in the history of a run that stays where it is."""
        after = replace(row, reason=reason, events=row.events + 1)
        self._write(row, after, [after])
        return after

    def _write(self, row: RunRow, after: RunRow, passed: Sequence[RunRow]) -> None:
        old = {"old_key": row.key, "old_state": row.state, "old_events": row.events}
        changed = {name: value for name, value in vars(after).items() if value != getattr(row, name)}
        if self.tx.execute(_UPDATE, {**old, **changed}).rowcount != 1:
            raise IllegalMove(row.run_id, "being changed by somebody else", after.state)
        self.tx.execute(_NOTE, [self._event(step) for step in passed])

    def _event(self, row: RunRow) -> dict[str, Any]:
        return {
            "run_key": row.key,
            "sequence": row.events,
            "workspace_id": row.workspace_id,
            "created_by": self.actor,
            "time_ns": self.now_ns,
            "attempt": row.attempt,
            "state": row.state,
            "reason": row.reason,
        }

    def _deadline(self, row: RunRow, state: RunState) -> int | None:
        if state in TERMINAL:
            return None
        if state is RunState.RUNNING:
            limit = row.spec["max_duration_s"] + RUNNING_MARGIN_S if row.spec else MAX_DURATION_S
            return int(self.now_ns + limit * SECOND)
        return self.now_ns + DEADLINES_S[state][0] * SECOND

    def _end_attempts(self, row: RunRow, swept: bool) -> None:
        """The attempt's token dies and its nodes are free, with the attempt itself."""
        for attempt_id in self.tx.execute(_ALIVE, {"key": row.key}).scalars().all():
            self.tx.execute(_END, {"old_id": attempt_id, "ended_ns": self.now_ns, "swept": swept})
            self.authenticator.revoke_attempt(self.tx, attempt_id, self.now_ns)
            computes.release(self.tx, attempt_id, self.now_ns)
