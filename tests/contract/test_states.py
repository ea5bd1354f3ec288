"""The states of a run: the whole table, written down once more by hand."""

from __future__ import annotations

import pytest

from trainyard.contract.errors import IllegalMove
from trainyard.contract.states import ACTIVE, TERMINAL, RunState, move, restart

# From each state, where a run may go within one attempt.
TABLE = {
    "NotStarted": "Preparing Queued Running CancelRequested Failed Canceled",
    "Preparing": "Queued CancelRequested Failed Canceled",
    "Queued": "Provisioning Starting CancelRequested Failed Canceled",
    "Provisioning": "Starting CancelRequested Failed Canceled",
    "Starting": "Running Finalizing CancelRequested Failed Canceled",
    "Running": "Finalizing Completed CancelRequested Failed Canceled",
    "CancelRequested": "Finalizing Failed Canceled",
    "Finalizing": "Completed Failed Canceled",
    "Completed": "",
    "Failed": "",
    "Canceled": "",
}
RESTARTABLE = {"Provisioning", "Starting", "Running", "Finalizing"}


def test_the_states_are_azure_s() -> None:
    assert {state.value for state in RunState} == set(TABLE)


@pytest.mark.parametrize("now", TABLE)
@pytest.mark.parametrize("to", TABLE)
def test_moves(now: str, to: str) -> None:
    if to in TABLE[now].split():
        assert move("r", RunState(now), RunState(to)) == RunState(to)
    else:
        with pytest.raises(IllegalMove, match=f"Run r is {now} and cannot become {to}"):
            move("r", RunState(now), RunState(to))


@pytest.mark.parametrize("now", TABLE)
def test_restart(now: str) -> None:
    if now in RESTARTABLE:
        assert restart("r", RunState(now)) == RunState.QUEUED
    else:
        with pytest.raises(IllegalMove):
            restart("r", RunState(now))


def test_every_state_leads_to_an_end_and_no_end_leads_on() -> None:
    assert {state.value for state in TERMINAL} == {"Completed", "Failed", "Canceled"}
    assert {state.value for state in ACTIVE} == set(TABLE) - {"Completed", "Failed", "Canceled"}
    for state, targets in TABLE.items():
        assert bool(targets) == (state not in ("Completed", "Failed", "Canceled"))
