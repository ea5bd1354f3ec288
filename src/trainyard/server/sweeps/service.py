"""Sweeps as users make and see them."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import InvalidSweep, NotFound
from trainyard.contract.metrics import MetricSummary
from trainyard.contract.runs import HYPERDRIVE, NewRun, RunRecord
from trainyard.contract.states import TERMINAL, RunState
from trainyard.contract.sweeps import (
    MAX_TOTAL_RUNS,
    Goal,
    NewSweep,
    Sampling,
    SweepChild,
    SweepRecord,
    SweepSpec,
    check_sweep,
    option,
)
from trainyard.server.computes import service as computes
from trainyard.server.context import Context
from trainyard.server.credentials import sealed_spec
from trainyard.server.identity.service import Principal
from trainyard.server.metrics import service as metrics
from trainyard.server.runs import conducted
from trainyard.server.runs.records import find_run_row, run_row, run_row_by_key, to_records
from trainyard.server.secrets import Secrets
from trainyard.server.sweeps import journal
from trainyard.server.sweeps.decide import total_of
from trainyard.server.sweeps.tables import sweep_children, sweeps
from trainyard.tuning.history import Trial
from trainyard.tuning.samplers import Sampler, make_sampler

_RESUMABLE = frozenset({RunState.COMPLETED, RunState.CANCELED})


def create_sweep(tx: Connection, context: Context, principal: Principal, workspace_id: str, new: NewSweep) -> RunRecord:
    """Accept a sweep: after the commit it is never lost. A resend of the same request answers the same sweep."""
    spec = replace(new.spec, run=sealed_spec(new.spec.run, Secrets.of_home(context.settings)))
    check_sweep(spec)
    _check_resumed(tx, workspace_id, spec)
    seed = spec.sampling_properties.get("seed")
    seed = secrets.randbits(32) if seed is None else int(seed)
    total = total_of(spec, sampler_of(spec, seed))
    parent = NewRun(
        experiment=new.experiment,
        run_id=new.run_id,
        parent_run_id=new.parent_run_id,
        type=HYPERDRIVE,
        tags=new.tags,
        properties=new.properties,
        started=False,
    )
    key = conducted.begin(tx, context, principal, workspace_id, parent, spec.run, to_json(new.spec))
    if tx.execute(select(sweeps.c.run_key).where(sweeps.c.run_key == key)).first() is None:
        row = run_row_by_key(tx, key)
        now = context.clock()
        lines = journal.line(now, journal.opening(spec, total, seed))
        warnings = (_too_many_at_once(tx, workspace_id, spec, total), _nothing_learned(tx, workspace_id, spec))
        for warning in filter(None, warnings):
            conducted.warn(tx, row, warning)
            row = run_row_by_key(tx, key)
            lines += journal.line(now, warning)
        owner = {"workspace_id": workspace_id, "created_by": row.created_by}
        asked = {"spec": to_json(spec), "seed": seed, "total": total, "started": 0, "open": True, "said": []}
        text = {"log_size": 0, "log_tail": lines, "created_ns": now}
        tx.execute(insert(sweeps), {"run_key": key, **owner, **asked, **text})
    return to_records(tx, [run_row_by_key(tx, key)], context.settings.folder("spool"), whole=True)[0]


def sampler_of(spec: SweepSpec, seed: int) -> Sampler:
    try:
        return make_sampler(spec.sampling, spec.space, spec.sampling_properties, seed)
    except ImportError as error:
        raise InvalidSweep(
            f"{spec.sampling} sampling needs a package that the service does not have ({error.name}). Install it where "
            f"the service runs, such as `pip install {error.name}`, or use RandomParameterSampling."
        ) from error


def get_sweep(tx: Connection, workspace_id: str, run_id: str) -> SweepRecord:
    """The sweep with all of its children, as they are now."""
    row = run_row(tx, workspace_id, run_id)
    sweep = tx.execute(select(sweeps).where(sweeps.c.run_key == row.key)).first()
    if sweep is None:
        raise NotFound(
            f"Run {run_id} is no sweep. `trainyard runs search \"type = 'hyperdrive'\"` lists those there are."
        )
    spec = from_json(SweepSpec, sweep.spec)
    record = to_records(tx, [row], "")[0]
    return SweepRecord(
        run_id=run_id,
        experiment=record.experiment,
        state=record.state,
        reason=record.reason,
        spec=spec,
        total=sweep.total,
        children=tuple(_children(tx, row.key, spec)),
        warnings=record.warnings,
        seed=sweep.seed,
    )


@dataclass(frozen=True)
class Measured:
    """The primary metric of a run."""

    best: float | None = None
    last: float | None = None
    reports: int = 0


def measured(tx: Connection, run_keys: Iterable[int], metric: str, goal: Goal) -> dict[int, Measured]:
    found = metrics.summaries(tx, run_keys, [metric])
    return {key: _measured(tx, key, summary[0], goal) if summary else Measured() for key, summary in found.items()}


def earlier_trials(tx: Connection, workspace_id: str, spec: SweepSpec) -> list[Trial]:
    """What the children of earlier sweeps tried, and their best values. What was deleted since is forgotten."""
    found: list[Trial] = []
    for run_id in spec.resume_from:
        earlier = find_run_row(tx, workspace_id, run_id)
        if earlier is None:
            continue
        rows = tx.execute(select(sweep_children).where(sweep_children.c.sweep_key == earlier.key)).all()
        values = measured(tx, [row.run_key for row in rows], spec.metric, spec.goal)
        for row in rows:
            best = values[row.run_key].best
            values_of_it = () if best is None else (best,)
            found.append(Trial(len(found), _as_named(spec, row.parameters), over=True, values=values_of_it))
    return found


def resumed_children(tx: Connection, workspace_id: str, spec: SweepSpec, started: int) -> list[dict[str, Any]]:
    """The samples of the runs that are gone on with. Those that were started are not asked for again: what they went on
    from may have been deleted since."""
    return [
        {} if at < started else _as_named(spec, _child_row(tx, workspace_id, run_id).parameters)
        for at, run_id in enumerate(spec.resume_child_runs)
    ]


def _children(tx: Connection, sweep_key: int, spec: SweepSpec) -> Iterable[SweepChild]:
    here = select(sweep_children).where(sweep_children.c.sweep_key == sweep_key).order_by(sweep_children.c.number)
    rows = tx.execute(here).all()
    keys = [row.run_key for row in rows]
    seen = conducted.states_of(tx, keys)
    values = measured(tx, keys, spec.metric, spec.goal)
    for row in rows:
        state, value = seen[row.run_key], values[row.run_key]
        yield SweepChild(
            index=row.number,
            run_id=row.run_id,
            state=state.state,
            parameters=row.parameters,
            best=value.best,
            last=value.last,
            reports=value.reports,
            started_ns=state.started_ns,
            ended_ns=state.ended_ns,
            stopped=row.stopped,
            outputs_from=row.outputs_from,
        )


def _measured(tx: Connection, key: int, summary: MetricSummary, goal: Goal) -> Measured:
    best = summary.max if goal is Goal.MAXIMIZE else summary.min
    if best is not None and not math.isfinite(best):  # an infinity hides the best number there is
        finite = [value for value in values_of(tx, key, summary.name) if math.isfinite(value)]
        best = (max if goal is Goal.MAXIMIZE else min)(finite, default=None)
    last = summary.last if summary.last is not None and math.isfinite(summary.last) else None
    return Measured(best, last, summary.count)


def values_of(tx: Connection, run_key: int, metric: str) -> tuple[float, ...]:
    """Every report of a metric; NaN for those that are no numbers."""
    series = metrics.read_series(tx, run_key, metric)
    values = series[0].values if series else ()
    return tuple(float(value) if isinstance(value, int | float) else math.nan for value in values)


def _too_many_at_once(tx: Connection, workspace_id: str, spec: SweepSpec, total: int) -> str | None:
    fits = computes.room(tx, workspace_id, spec.run.target, spec.run.nodes)
    if spec.max_concurrent_runs is None or min(spec.max_concurrent_runs, total) <= fits:
        return None
    nodes = "one node" if spec.run.nodes == 1 else f"{spec.run.nodes} nodes"
    return (
        f"max_concurrent_runs is {spec.max_concurrent_runs}, and {spec.run.target!r} has room for {fits} runs of "
        f"{nodes} at once: that many will run. Raise the target's max_nodes to have more."
    )


def _nothing_learned(tx: Connection, workspace_id: str, spec: SweepSpec) -> str | None:
    if spec.sampling is not Sampling.BAYESIAN:
        return None
    trials = earlier_trials(tx, workspace_id, spec)
    if not trials or any(trial.values and set(spec.space) <= set(trial.parameters) for trial in trials):
        return None
    return (
        f"Nothing is learned from {', '.join(spec.resume_from)}: no run there has a value of {spec.metric!r} and all "
        f"parameters of this sweep ({', '.join(spec.space)}). Search the same parameters to go on from what was found."
    )


def _as_named(spec: SweepSpec, parameters: dict[str, Any]) -> dict[str, Any]:
    """A sample by this sweep's names: 'lr' and '--lr' are the same parameter."""
    names = {option(name): name for name in spec.space}
    return {names.get(option(name), name): value for name, value in parameters.items()}


def _check_resumed(tx: Connection, workspace_id: str, spec: SweepSpec) -> None:
    many = spec.max_total_runs
    for run_id in spec.resume_from:
        row = find_run_row(tx, workspace_id, run_id)
        sweep = tx.execute(select(sweeps).where(sweeps.c.run_key == row.key)).first() if row else None
        if row is None or sweep is None:
            raise InvalidSweep(f"resume_from names {run_id}, and there is no such sweep in this workspace.")
        earlier = from_json(SweepSpec, sweep.spec)
        if (earlier.metric, earlier.goal) != (spec.metric, spec.goal):
            raise InvalidSweep(
                f"resume_from names {run_id}, which was to {earlier.goal.lower()} {earlier.metric!r}; this sweep is to "
                f"{spec.goal.lower()} {spec.metric!r}. What was learned there says nothing here: give both the same "
                "primary_metric_name and primary_metric_goal, or leave resume_from out."
            )
        if RunState(row.state) not in _RESUMABLE:
            raise InvalidSweep(
                f"resume_from names {run_id}, which is {row.state}. Resume from sweeps that are Completed or Canceled."
            )
        many += int(sweep.started)
    if many > MAX_TOTAL_RUNS:
        raise InvalidSweep(
            f"With the runs of resume_from this sweep would know {many} runs; at most {MAX_TOTAL_RUNS} are allowed. "
            "Lower max_total_runs, or resume from fewer sweeps."
        )
    if spec.resume_child_runs and spec.sampling is Sampling.POPULATION:
        raise InvalidSweep("Population-based sampling starts its own members. Leave resume_child_runs out.")
    for run_id in spec.resume_child_runs:
        state = RunState(run_row(tx, workspace_id, run_id).state)
        if state not in TERMINAL:
            raise InvalidSweep(f"resume_child_runs names {run_id}, which is {state}. Wait for it, or cancel it.")
        missing = set(spec.space) ^ set(_as_named(spec, _child_row(tx, workspace_id, run_id).parameters))
        if missing:
            raise InvalidSweep(
                f"resume_child_runs names {run_id}, which has other parameters than this sweep ({', '.join(missing)}). "
                "Use the same parameter space."
            )


def _child_row(tx: Connection, workspace_id: str, run_id: str) -> Row[Any]:
    here = (sweep_children.c.workspace_id == workspace_id) & (sweep_children.c.run_id == run_id)
    found = tx.execute(select(sweep_children).where(here)).first()
    if found is None:
        raise InvalidSweep(f"resume_child_runs names {run_id}, which is no child of a sweep in this workspace.")
    return found
