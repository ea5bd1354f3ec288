"""What is to happen with a service, given what is known of it. Pure: its tests are tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from trainyard.contract.endpoints import OperationState, Scaling, ServiceKind, Share
from trainyard.contract.errors import ServiceRefused
from trainyard.contract.models import Resources
from trainyard.contract.serving import Scorer, ScorerStatus, ServicePlan, ServiceState, ServiceStatus

SECOND = 1_000_000_000
_MOST_WORKERS = 64
_KEPT_LONGER_NS = 30 * SECOND
_AUTOSCALE_TO = 10  # replicas, where autoscaling is on and nobody said how many


class Step(StrEnum):
    """How far one revision of a version is."""

    WAITING = "waiting"  # accepted: its environment has not been asked for
    BUILDING = "building"
    TRIAL = "trial"  # laid out and in the plan: it takes traffic once it has answered
    LIVE = "live"
    FAILED = "failed"
    RETIRED = "retired"  # a later revision has taken over, or it was removed


STEPS: dict[Step, frozenset[Step]] = {
    Step.WAITING: frozenset({Step.BUILDING, Step.FAILED, Step.RETIRED}),
    Step.BUILDING: frozenset({Step.TRIAL, Step.FAILED, Step.RETIRED}),
    Step.TRIAL: frozenset({Step.LIVE, Step.FAILED, Step.RETIRED}),
    Step.LIVE: frozenset({Step.RETIRED, Step.FAILED}),
    Step.FAILED: frozenset({Step.RETIRED}),
    Step.RETIRED: frozenset(),
}
COMING = frozenset({Step.WAITING, Step.BUILDING, Step.TRIAL})
PLANNED = frozenset({Step.TRIAL, Step.LIVE})


@dataclass(frozen=True)
class Revision:
    """One revision of a version, as far as deciding needs it."""

    key: int
    name: str
    revision: int
    step: Step
    share: Share
    scorer: Scorer | None = None


@dataclass(frozen=True)
class Verdict:
    """What a look at the front's status means for a service."""

    state: ServiceState
    operation: OperationState
    error: str | None
    steps: dict[int, Step]  # key of a revision → where it is now
    errors: dict[int, str]  # key of a revision → why it failed
    workers: dict[int, int]


def planned(revisions: Iterable[Revision]) -> list[Revision]:
    """What the plan holds: of each version the newest revision that can be served, in the order of their names' first
    appearance."""
    newest: dict[str, Revision] = {}
    for revision in sorted(revisions, key=lambda it: it.key):
        if revision.step in PLANNED:
            newest[revision.name] = revision
    return list(newest.values())


def shares(revisions: Sequence[Revision]) -> dict[str, int]:
    """Per cent of the traffic for each version: what was asked for, and what is left over for the default one."""
    if not revisions:
        return {}
    asked = {it.name: it.share.traffic or 0 for it in revisions}
    default = next((it.name for it in revisions if it.share.is_default), revisions[0].name)
    rest = sum(percent for name, percent in asked.items() if name != default)
    return {**asked, default: max(0, 100 - rest)}


def scorers(revisions: Iterable[Revision]) -> tuple[Scorer, ...]:
    there = planned(revisions)
    share = shares(there)
    return tuple(
        replace(it.scorer, traffic=share[it.name], mirror=it.share.mirror or 0) for it in there if it.scorer is not None
    )


def same_plan(one: ServicePlan, other: ServicePlan) -> bool:
    return replace(one, generation=0) == replace(other, generation=0)


def check_shares(wanted: Mapping[str, Share]) -> None:
    """Of all versions of an endpoint, as they will be."""
    for name, share in wanted.items():
        for what, percent in (("traffic_percentile", share.traffic), ("mirror_percentile", share.mirror)):
            if percent is not None and not 0 <= percent <= 100:
                raise ServiceRefused(f"{what} of version {name} is {percent}; give a number from 0 to 100.")
    total = sum(share.traffic or 0 for share in wanted.values())
    if total > 100:
        parts = ", ".join(f"{name} {share.traffic or 0}" for name, share in sorted(wanted.items()))
        raise ServiceRefused(
            f"The versions would take {total} per cent of the traffic ({parts}). Lower them to 100 at most; what is "
            "left over goes to the default version."
        )


def workers_of(scaling: Scaling, resources: Resources | None, kind: ServiceKind, cores: int) -> tuple[int, int]:
    """How many processes at the least and at the most: replicas times their whole cores. A wish that names replicas is
    kept; what grows by itself stops at the machine's cores."""
    cpu = scaling.cpu_cores or (resources.cpu if resources else None) or 0.1
    each = max(1, min(int(cpu), cores))
    grows = (
        scaling.autoscale
        if scaling.autoscale is not None
        else (
            scaling.max_replicas is not None
            or (kind in (ServiceKind.AKS, ServiceKind.ENDPOINT) and not scaling.replicas)
        )
    )
    if not grows:
        fixed = min(_MOST_WORKERS, (scaling.replicas or 1) * each)
        return fixed, fixed
    least = min(_MOST_WORKERS, (scaling.min_replicas or 1) * each)
    most = (scaling.max_replicas or max(_AUTOSCALE_TO, scaling.min_replicas or 1)) * each
    return least, max(least, min(most, cores, _MOST_WORKERS))


def init_timeout_s(scalings: Iterable[Scaling]) -> float:
    """What probes would have allowed, where that is longer than ours: a short probe is no reason to give up on a busy
    machine."""
    return max([ServicePlan.init_timeout_s, *(float(it.init_timeout_s) for it in scalings if it.init_timeout_s)])


def kept_ns(scaling: Scaling) -> int:
    """How long the files of a retired revision stay: longer than the front gives its last requests."""
    return _KEPT_LONGER_NS + max(60 * SECOND, (scaling.timeout_ms or 0) * 1_000_000)


def judge(revisions: Sequence[Revision], status: ServiceStatus | None, plan: int, *, alive: bool) -> Verdict:
    """`status` is what the front said last, `plan` the generation of the plan it should be about. A front that could
    not even listen has said so and is gone."""
    refused = status is not None and status.state is ServiceState.FAILED and not status.scorers
    heard = status is not None and (alive or refused) and status.generation == plan
    said = {it.version: it for it in status.scorers} if status is not None and heard else {}
    steps: dict[int, Step] = {}
    errors: dict[int, str] = {}
    workers: dict[int, int] = {}
    for it in planned(revisions):
        scorer = said.get(it.scorer.version) if it.scorer is not None else None
        if scorer is None:
            continue
        workers[it.key] = scorer.workers
        after = _after(it.step, scorer)
        if after is not it.step:
            steps[it.key] = after
        if after is Step.FAILED:
            errors[it.key] = scorer.error or "It did not become healthy, and said nothing. See get_logs()."
        if after is Step.LIVE and it.step is Step.TRIAL:
            older = (other for other in revisions if other.name == it.name and other.key < it.key)
            steps |= {other.key: Step.RETIRED for other in older if other.step is not Step.RETIRED}
    if status is not None and heard and status.state is ServiceState.FAILED and not errors:
        # the front itself cannot serve: nothing that is only tried will
        tried = [it for it in planned(revisions) if it.step is Step.TRIAL]
        steps |= {it.key: Step.FAILED for it in tried}
        errors |= {it.key: status.error or "The service did not start. See get_logs()." for it in tried}
    starting = status is not None and status.state is ServiceState.TRANSITIONING and not status.serving
    return _verdict(revisions, steps, errors, workers, status if heard and not starting else None, alive)


def _after(step: Step, scorer: ScorerStatus) -> Step:
    if scorer.state is ServiceState.HEALTHY:
        return Step.LIVE
    if scorer.state is ServiceState.FAILED and step is Step.TRIAL:
        return Step.FAILED
    return step


def _verdict(
    revisions: Sequence[Revision],
    steps: dict[int, Step],
    errors: dict[int, str],
    workers: dict[int, int],
    status: ServiceStatus | None,
    alive: bool,
) -> Verdict:
    now = {it.key: steps.get(it.key, it.step) for it in revisions}
    newest: dict[str, Revision] = {}
    for it in sorted(revisions, key=lambda it: it.key):
        if now[it.key] is not Step.RETIRED:
            newest[it.name] = it
    coming = any(now[it.key] in COMING for it in newest.values())
    failed = [it for it in newest.values() if now[it.key] is Step.FAILED]
    serving = any(step is Step.LIVE for step in now.values())
    error = next((errors[it.key] for it in failed if it.key in errors), None)
    if coming:
        return Verdict(ServiceState.TRANSITIONING, OperationState.RUNNING, error, steps, errors, workers)
    if not serving:
        return Verdict(ServiceState.FAILED, OperationState.FAILED, error, steps, errors, workers)
    heard = OperationState.SUCCEEDED if status is not None else OperationState.RUNNING
    operation = OperationState.FAILED if failed else heard
    state = _state(status, alive=alive, failed=bool(failed))
    if error is None and status is not None and state is ServiceState.UNHEALTHY:
        error = status.error
    return Verdict(state, operation, error, steps, errors, workers)


def _state(status: ServiceStatus | None, *, alive: bool, failed: bool) -> ServiceState:
    """Of a service that has a version that served. A revision that `failed` leaves the one before it serving."""
    if status is None:  # what was asked for last has not been heard of, or the front has just been started again
        waiting = ServiceState.HEALTHY if failed else ServiceState.TRANSITIONING
        return waiting if alive else ServiceState.UNHEALTHY
    if status.state in (ServiceState.HEALTHY, ServiceState.TRANSITIONING):
        return ServiceState.HEALTHY
    return ServiceState.HEALTHY if failed and status.state is ServiceState.FAILED else ServiceState.UNHEALTHY
