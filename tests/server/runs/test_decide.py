"""The decisions about a run, as a table: what is known → what happens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trainyard.contract.attempts import NodeEnded
from trainyard.contract.runs import RunError
from trainyard.contract.states import AgentState, RunState
from trainyard.server.runs.decide import DEADLINES_S, Facts, Move, NodeFacts, Restart, StopReason, decide

GOOD = NodeEnded(exit_code=0)
BAD = NodeEnded(exit_code=3, error=RunError("UserScriptFailed", "The script ended with exit code 3."))
STOPPED = NodeEnded(
    exit_code=-15, error=RunError("StoppedByPeer", "Ended because another process failed."), stopped=True
)

UP = NodeFacts(0, arrived=True, started_ns=7)


def facts(state: RunState, *nodes: NodeFacts, **more: object) -> Facts:
    return replace(Facts(state, "r", now_ns=1000, deadline_ns=2000, nodes=nodes, placed=True), **more)  # type: ignore[arg-type]


def states(known: Facts) -> list[str]:
    return ["restart" if isinstance(step, Restart) else str(step.to) for step in decide(known)]


def ended(node: NodeFacts, how: NodeEnded, *, final: bool = True) -> NodeFacts:
    return replace(node, ended=how, final=final)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(facts(RunState.STARTING, NodeFacts(0, arrived=True)), [], id="waits for its processes"),
        pytest.param(facts(RunState.STARTING, UP), ["Running"], id="all started"),
        pytest.param(
            facts(RunState.STARTING, UP, NodeFacts(1), observed=AgentState.FAILED),
            ["restart"],
            id="lost before they met",
        ),
        pytest.param(
            facts(RunState.STARTING, UP, NodeFacts(1), observed=AgentState.FAILED, attempt=3),
            ["Failed"],
            id="lost before they met, again and again",
        ),
        pytest.param(
            facts(RunState.STARTING, NodeFacts(0, arrived=True), observed=AgentState.FAILED),
            ["Failed"],
            id="lost after they met: perhaps it ran",
        ),
        pytest.param(facts(RunState.STARTING, UP, NodeFacts(1)), [], id="one of two is missing"),
        pytest.param(facts(RunState.RUNNING, UP), [], id="runs"),
        pytest.param(facts(RunState.RUNNING, ended(UP, GOOD, final=False)), ["Finalizing"], id="files still to come"),
        pytest.param(facts(RunState.RUNNING, ended(UP, GOOD)), ["Finalizing", "Completed"], id="over"),
        pytest.param(facts(RunState.STARTING, ended(UP, GOOD)), ["Finalizing", "Completed"], id="quicker than a look"),
        pytest.param(facts(RunState.FINALIZING, ended(UP, GOOD)), ["Completed"], id="the last file came"),
        pytest.param(facts(RunState.RUNNING, ended(UP, BAD)), ["Finalizing", "Failed"], id="failed"),
        pytest.param(
            facts(RunState.CANCEL_REQUESTED, ended(UP, GOOD), stop=StopReason.CANCEL),
            ["Finalizing", "Canceled"],
            id="canceled, even if it ended well at the same moment",
        ),
        pytest.param(
            facts(RunState.RUNNING, ended(UP, STOPPED), stop=StopReason.PREEMPT),
            ["Finalizing", "restart"],
            id="preempted",
        ),
        pytest.param(facts(RunState.RUNNING, UP, observed=AgentState.RUNNING, silent_s=500), [], id="silent but alive"),
        pytest.param(facts(RunState.RUNNING, UP, observed=AgentState.FAILED), ["Failed"], id="agent died"),
        pytest.param(facts(RunState.RUNNING, UP, observed=AgentState.LOST, silent_s=1), [], id="heard a second ago"),
        pytest.param(facts(RunState.RUNNING, UP, observed=AgentState.LOST, silent_s=60), ["Failed"], id="agent lost"),
        pytest.param(
            facts(RunState.RUNNING, UP, observed=AgentState.FAILED, attempt=2, max_restarts=2),
            ["restart"],
            id="agent lost, and the run may be started again",
        ),
        pytest.param(
            facts(RunState.RUNNING, UP, observed=AgentState.FAILED, attempt=3, max_restarts=2),
            ["Failed"],
            id="agent lost once too often",
        ),
        pytest.param(
            facts(RunState.CANCEL_REQUESTED, UP, observed=AgentState.FAILED, stop=StopReason.CANCEL),
            ["Canceled"],
            id="agent died while being canceled",
        ),
        pytest.param(
            facts(RunState.RUNNING, UP, observed=AgentState.FAILED, stop=StopReason.PREEMPT),
            ["restart"],
            id="node taken",
        ),
        pytest.param(
            facts(RunState.FINALIZING, ended(UP, GOOD, final=False), observed=AgentState.FAILED),
            ["Completed"],
            id="agent died while it collected files",
        ),
        pytest.param(facts(RunState.RUNNING, UP, now_ns=2000), ["Failed"], id="too long"),
    ],
)
def test_next_steps(known: Facts, expected: list[str]) -> None:
    assert states(known) == expected


@pytest.mark.parametrize("state", [state for state in DEADLINES_S if state is not RunState.CANCEL_REQUESTED])
def test_every_waiting_state_ends_at_its_deadline_with_a_reason(state: RunState) -> None:
    (step,) = decide(facts(state, now_ns=2000))
    assert isinstance(step, Move)
    assert step.to is RunState.FAILED
    assert step.error is not None
    assert step.error.code == "DeadlineMissed"
    assert DEADLINES_S[state][1] in step.reason


def test_a_cancel_that_nobody_confirms_ends_canceled() -> None:
    assert states(facts(RunState.CANCEL_REQUESTED, UP, now_ns=2000, stop=StopReason.CANCEL)) == ["Canceled"]


def test_every_state_that_is_not_an_end_has_a_deadline() -> None:
    assert {*DEADLINES_S, RunState.RUNNING} == set(RunState) - {
        RunState.COMPLETED,
        RunState.FAILED,
        RunState.CANCELED,
    }


def test_what_says_that_another_took_it_along_is_not_the_runs_error() -> None:
    """It may well end first: with Horovod the rank that fails waits for the others at its exit."""
    early = NodeEnded(1, RunError("UserScriptFailed", "Horovod has been shut down", rank=0), taken_along=True)
    late = NodeEnded(1, RunError("UserScriptFailed", "The script ended with exit code 1.", rank=1))
    nodes = (
        NodeFacts(0, arrived=True, ended=early, ended_ns=5, final=True),
        NodeFacts(1, arrived=True, ended=late, ended_ns=9, final=True),
    )
    steps = decide(facts(RunState.FINALIZING, *nodes))
    assert steps == (Move(RunState.FAILED, "The script ended with exit code 1.", late.error),)


def test_the_failure_that_came_first_is_the_runs_error_not_the_peers_it_took_along() -> None:
    nodes = (ended(UP, STOPPED), ended(replace(UP, node=1), BAD))
    step = decide(facts(RunState.RUNNING, *nodes))[-1]
    assert isinstance(step, Move)
    assert step.error == BAD.error


def test_of_two_that_failed_by_themselves_the_first_is_the_runs_error() -> None:
    late = NodeEnded(exit_code=1, error=RunError("UserScriptFailed", "Connection closed by peer", rank=0))
    early = NodeEnded(exit_code=3, error=RunError("UserScriptFailed", "The script ended with exit code 3.", rank=1))
    nodes = (replace(ended(UP, late), ended_ns=20), replace(ended(replace(UP, node=1), early), ended_ns=10))
    step = decide(facts(RunState.RUNNING, *nodes))[-1]
    assert isinstance(step, Move)
    assert step.error == early.error


def test_the_node_that_never_came_is_named() -> None:
    (step,) = decide(facts(RunState.STARTING, UP, NodeFacts(1), now_ns=2000))
    assert "node-1 never came" in step.reason
