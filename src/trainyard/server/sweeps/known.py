"""What the conductor remembers of a sweep between two looks. All of it can be read again from the rows, and is after a
restart; remembering it makes a look cost what is new, not what there is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from trainyard.contract.codec import from_json
from trainyard.contract.runs import RunError
from trainyard.contract.states import TERMINAL, RunState
from trainyard.contract.sweeps import Policy as PolicyName
from trainyard.contract.sweeps import Sampling, SweepSpec
from trainyard.server.runs import conducted
from trainyard.server.runs.conducted import Seen
from trainyard.server.runs.records import run_row_by_key
from trainyard.server.sweeps import service
from trainyard.server.sweeps.service import Measured
from trainyard.server.sweeps.tables import sweep_children
from trainyard.server.workspaces import service as workspaces
from trainyard.tuning.history import History, Trial
from trainyard.tuning.policies import Policy, make_policy
from trainyard.tuning.samplers import Sampler

_CHILDREN = (
    select(sweep_children)
    .where(sweep_children.c.sweep_key == bindparam("sweep_key"), sweep_children.c.number >= bindparam("first"))
    .order_by(sweep_children.c.number)
)


@dataclass
class Child:
    """One that is not over."""

    index: int
    run_key: int
    run_id: str
    seen: Seen | None = None
    value: Measured = field(default_factory=Measured)


@dataclass
class Known:
    key: int
    workspace_id: str
    experiment: str
    spec: SweepSpec
    total: int
    sampler: Sampler
    policy: Policy
    earlier: list[Trial]
    resumed: list[dict[str, Any]]
    trials: list[Trial] = field(default_factory=list)
    open: dict[int, Child] = field(default_factory=dict)
    run_ids: list[str] = field(default_factory=list)
    ends: Counter[RunState] = field(default_factory=Counter)
    error: RunError | None = None  # of the first child that failed; it says which
    best: tuple[float, int] | None = None  # score and child

    @property
    def judges(self) -> bool:
        """Whether what runs now may be ended for what it logs."""
        return self.spec.policy is not PolicyName.NONE

    @property
    def follows(self) -> bool:
        """Whether every report counts, or only the best of a run that is over."""
        return self.judges or self.spec.sampling is Sampling.POPULATION

    @property
    def history(self) -> History:
        return History(self.spec.goal, self.trials, self.earlier)

    @staticmethod
    def load(tx: Connection, row: Row[Any]) -> Known:
        spec = from_json(SweepSpec, row.spec)
        known = Known(
            key=row.run_key,
            workspace_id=row.workspace_id,
            experiment=_experiment_of(tx, row.run_key),
            spec=spec,
            total=row.total,
            sampler=service.sampler_of(spec, row.seed),
            policy=make_policy(spec.policy, spec.policy_properties),
            earlier=service.earlier_trials(tx, row.workspace_id, spec),
            resumed=service.resumed_children(tx, row.workspace_id, spec, row.started),
        )
        known.take_children(tx, row.started)
        return known

    def take_children(self, tx: Connection, started: int) -> None:
        """Children that were made since the last look, or by an earlier service. One that was deleted leaves its place:
        an index is never given twice."""
        rows = tx.execute(_CHILDREN, {"sweep_key": self.key, "first": len(self.trials)}).all()
        over = [row for row in rows if row.over]
        seen = conducted.states_of(tx, [row.run_key for row in over])
        for row in rows:
            self._leave_out(row.number)
            self.add(row.number, row.run_key, row.run_id, row.parameters)
            if row.over:
                values = service.values_of(tx, row.run_key, self.spec.metric) if self.follows else ()
                self.close(row.number, seen[row.run_key], Measured(row.best, None, len(values)), values)
        self._leave_out(started)

    def _leave_out(self, until: int) -> None:
        while len(self.trials) < until:
            self.trials.append(Trial(len(self.trials), {}, over=True))
            self.run_ids.append("")

    def add(self, index: int, run_key: int, run_id: str, parameters: dict[str, Any]) -> None:
        self.trials.append(Trial(index, parameters))
        self.run_ids.append(run_id)
        self.open[index] = Child(index, run_key, run_id)

    def look(self, tx: Connection) -> list[Child]:
        """Bring the open children to how they are now; answers those that are over."""
        states = conducted.states_of(tx, [child.run_key for child in self.open.values()])
        for child in [child for child in self.open.values() if child.run_key not in states]:
            self.trials[child.index] = Trial(child.index, {}, over=True)  # it ended and was deleted since the last look
            del self.open[child.index]
        keys = [child.run_key for child in self.open.values()]
        over = [child for child in self.open.values() if states[child.run_key].state in TERMINAL]
        # values that nobody judges by are read once, at the end
        wanted = keys if self.follows else [child.run_key for child in over]
        values = service.measured(tx, wanted, self.spec.metric, self.spec.goal)
        for child in self.open.values():
            child.seen = states[child.run_key]
            fresh = values.get(child.run_key, child.value)
            if self.follows and fresh.reports != child.value.reports:
                reported = service.values_of(tx, child.run_key, self.spec.metric)
                self.trials[child.index] = replace(self.trials[child.index], values=reported)
            child.value = fresh
        return over

    def close(self, index: int, seen: Seen, value: Measured, values: tuple[float, ...] = ()) -> None:
        """The child is over; `values` for those that were not followed."""
        child = self.open.pop(index)
        trial = self.trials[index]
        kept = values or trial.values or (() if value.best is None else (value.best,))
        self.trials[index] = replace(trial, over=True, values=kept)
        self.ends[seen.state] += 1
        if seen.state is RunState.FAILED and seen.error is not None and self.error is None:
            self.error = replace(seen.error, message=f"{self.run_ids[index]}: {seen.error.message}")
        child.value = value
        if value.best is not None:
            score = self.history.score(value.best)
            if self.best is None or score > self.best[0]:
                self.best = (score, index)

    @property
    def best_value(self) -> float:
        return self.history.score(self.best[0]) if self.best is not None else math.nan

    def states(self) -> Mapping[int, RunState]:
        return {child.index: child.seen.state for child in self.open.values() if child.seen is not None}


def _experiment_of(tx: Connection, run_key: int) -> str:
    experiment_id = run_row_by_key(tx, run_key).experiment_id
    return workspaces.experiment_names(tx, {experiment_id})[experiment_id]


def forget_closed(known: dict[int, Known], keys: Iterable[int]) -> None:
    for key in set(known) - set(keys):
        del known[key]
