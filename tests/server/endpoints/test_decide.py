"""What is to happen with a service, as tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trainyard.contract.endpoints import OperationState, Scaling, ServiceKind, Share
from trainyard.contract.errors import ServiceRefused
from trainyard.contract.models import Resources
from trainyard.contract.serving import Scorer, ScorerStatus, ServiceState, ServiceStatus
from trainyard.server.endpoints.decide import (
    Revision,
    Step,
    check_shares,
    init_timeout_s,
    judge,
    kept_ns,
    planned,
    scorers,
    shares,
    workers_of,
)

H, F, T, U = ServiceState.HEALTHY, ServiceState.FAILED, ServiceState.TRANSITIONING, ServiceState.UNHEALTHY
RUNNING, SUCCEEDED, FAILED = OperationState.RUNNING, OperationState.SUCCEEDED, OperationState.FAILED


def revision(key: int, step: Step, name: str = "1", share: Share = Share()) -> Revision:  # noqa: B008 - frozen
    version = name if name != "1" else str(key)
    return Revision(key, name, key, step, share, Scorer(version, "/python", "/models"))


def status(generation: int, state: ServiceState, *said: tuple[str, ServiceState], error: str | None = None):
    each = tuple(ScorerStatus(version, at, 1, "why" if at is F else None) for version, at in said)
    return ServiceStatus("s", generation, state, 1, "http://127.0.0.1:1", each, error)


def test_the_plan_holds_the_newest_that_can_be_served() -> None:
    steps = [Step.RETIRED, Step.LIVE, Step.FAILED]
    found = planned([revision(key, step) for key, step in enumerate(steps, 1)])
    assert [it.key for it in found] == [2]
    found = planned([revision(1, Step.LIVE), revision(2, Step.TRIAL), revision(3, Step.BUILDING)])
    assert [it.key for it in found] == [2]


@pytest.mark.parametrize(
    ("revisions", "said", "alive", "expected"),
    [
        ([revision(1, Step.BUILDING)], None, False, (T, RUNNING, {})),
        ([revision(1, Step.FAILED)], None, False, (F, FAILED, {})),
        ([revision(1, Step.TRIAL)], status(3, T, ("1", T)), True, (T, RUNNING, {})),
        ([revision(1, Step.TRIAL)], status(2, H, ("1", H)), True, (T, RUNNING, {})),  # about an earlier plan
        ([revision(1, Step.TRIAL)], status(3, H, ("1", H)), True, (H, SUCCEEDED, {1: Step.LIVE})),
        ([revision(1, Step.TRIAL)], status(3, F, ("1", F)), True, (F, FAILED, {1: Step.FAILED})),
        ([revision(1, Step.TRIAL)], status(3, F, error="port"), False, (F, FAILED, {1: Step.FAILED})),
        ([revision(1, Step.LIVE)], status(3, H, ("1", H)), True, (H, SUCCEEDED, {})),
        ([revision(1, Step.LIVE)], status(3, U, ("1", T)), True, (U, SUCCEEDED, {})),
        ([revision(1, Step.LIVE)], None, False, (U, RUNNING, {})),
        ([revision(1, Step.LIVE)], status(3, T, ("1", T)), True, (T, RUNNING, {})),  # its front was started again
        ([revision(1, Step.LIVE)], replace(status(3, T, ("1", H)), serving=2), True, (H, SUCCEEDED, {})),
        ([revision(1, Step.LIVE)], status(2, H, ("1", H)), True, (T, RUNNING, {})),
        (
            [revision(1, Step.LIVE), revision(2, Step.TRIAL)],
            status(3, H, ("2", H)),
            True,
            (H, SUCCEEDED, {2: Step.LIVE, 1: Step.RETIRED}),
        ),
        (
            [revision(1, Step.LIVE), revision(2, Step.TRIAL)],
            status(3, F, ("1", H), ("2", F)),
            True,
            (H, FAILED, {2: Step.FAILED}),  # the old one goes on
        ),
        ([revision(1, Step.LIVE), revision(2, Step.FAILED)], status(4, H, ("1", H)), True, (H, FAILED, {})),
    ],
)
def test_what_a_status_means(revisions, said, alive, expected) -> None:
    verdict = judge(revisions, said, 4 if said is not None and said.generation == 4 else 3, alive=alive)
    assert (verdict.state, verdict.operation, verdict.steps) == expected


def test_why_a_trial_failed_is_kept() -> None:
    verdict = judge([revision(1, Step.TRIAL)], status(3, F, ("1", F)), 3, alive=True)
    assert (verdict.errors, verdict.error) == ({1: "why"}, "why")


def test_why_a_service_that_was_healthy_answers_no_more() -> None:
    no_port = status(3, F, error="The service cannot listen")
    verdict = judge([revision(1, Step.LIVE)], no_port, 3, alive=False)
    assert (verdict.state, verdict.operation, verdict.error) == (U, SUCCEEDED, "The service cannot listen")
    dying = status(3, U, ("1", U), error="The scoring process ended with exit code 1.")
    verdict = judge([revision(1, Step.LIVE)], dying, 3, alive=True)
    assert (verdict.state, verdict.error) == (U, "The scoring process ended with exit code 1.")


@pytest.mark.parametrize(
    ("asked", "default", "expected"),
    [
        ({"a": 0}, "a", {"a": 100}),
        ({"a": 40}, "a", {"a": 100}),
        ({"a": 40, "b": 10}, "a", {"a": 90, "b": 10}),
        ({"a": 40, "b": 10}, "b", {"a": 40, "b": 60}),
        ({"a": 30, "b": 30, "c": 40}, "b", {"a": 30, "b": 30, "c": 40}),
    ],
)
def test_what_nobody_asked_for_goes_to_the_default_version(asked, default, expected) -> None:
    versions = [
        revision(key, Step.LIVE, name, Share(traffic, 0, is_default=name == default))
        for key, (name, traffic) in enumerate(asked.items(), 1)
    ]
    assert shares(versions) == expected
    assert {it.version: it.traffic for it in scorers(versions)} == expected


def test_more_than_all_of_the_traffic_is_refused() -> None:
    with pytest.raises(ServiceRefused, match=r"would take 110 per cent of the traffic \(a 60, b 50\)"):
        check_shares({"a": Share(60), "b": Share(50)})
    with pytest.raises(ServiceRefused, match="from 0 to 100"):
        check_shares({"a": Share(traffic=-1)})


@pytest.mark.parametrize(
    ("scaling", "kind", "expected"),
    [
        (Scaling(), ServiceKind.ACI, (1, 1)),
        (Scaling(cpu_cores=0.1), ServiceKind.ACI, (1, 1)),
        (Scaling(cpu_cores=3), ServiceKind.ACI, (3, 3)),
        (Scaling(cpu_cores=16), ServiceKind.ACI, (4, 4)),  # no more than the machine has
        (Scaling(replicas=6), ServiceKind.AKS, (6, 6)),
        (Scaling(replicas=2, cpu_cores=2), ServiceKind.AKS, (4, 4)),
        (Scaling(), ServiceKind.AKS, (1, 4)),  # autoscaled, as Azure did by default
        (Scaling(autoscale=True, min_replicas=2, max_replicas=3), ServiceKind.AKS, (2, 3)),
        (Scaling(autoscale=False), ServiceKind.AKS, (1, 1)),
    ],
)
def test_how_many_processes(scaling, kind, expected) -> None:
    assert workers_of(scaling, None, kind, cores=4) == expected


@pytest.mark.parametrize(("said", "expected"), [([], 300), ([None, 40], 300), ([340, 2000, None], 2000)])
def test_how_long_init_may_take(said, expected) -> None:
    assert init_timeout_s(Scaling(init_timeout_s=seconds) for seconds in said) == expected


def test_a_model_s_own_wish_counts_where_the_deployment_says_nothing() -> None:
    assert workers_of(Scaling(), Resources(cpu=2), ServiceKind.ACI, cores=4) == (2, 2)
    assert workers_of(Scaling(cpu_cores=1), Resources(cpu=2), ServiceKind.ACI, cores=4) == (1, 1)


@pytest.mark.parametrize(("timeout_ms", "seconds"), [(None, 90), (1_000, 90), (300_000, 330)])
def test_files_outlive_the_last_request_that_may_use_them(timeout_ms, seconds) -> None:
    assert kept_ns(Scaling(timeout_ms=timeout_ms)) == seconds * 10**9
