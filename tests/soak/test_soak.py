"""Minutes of everything at once: runs come and go while service, guardian and agents are killed. Then every promise is
looked up in the database. TRAINYARD_SOAK_S says for how long, TRAINYARD_SOAK_SEED repeats one that failed."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stead import Stead, kill, until

from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.exceptions import AzureMLException
from trainyard.contract.states import MOVES, TERMINAL, RunState

SECONDS = float(os.environ.get("TRAINYARD_SOAK_S") or 120)
SEED = int(os.environ.get("TRAINYARD_SOAK_SEED") or time.time_ns() % 1_000_000)

# Says who it is, outside and inside; a line and a metric per step; at the end how many.
JOB = """
import os, random, sys, time
from azureml.core import Run
run = Run.get_context()
mine = f"{os.environ['AZUREML_RUN_ID']}.{os.environ['TRAINYARD_ATTEMPT']}"
alive = os.path.join(sys.argv[1], mine + '.alive')
os.close(os.open(alive, os.O_CREAT | os.O_EXCL))  # a second process of the same attempt would fail here
for n in range(int(sys.argv[2])):
    print(mine, n, flush=True)
    run.log('n', n)
    time.sleep(0.005)
open(os.path.join(sys.argv[1], mine + '.done'), 'w').write(sys.argv[2])
sys.exit(int(sys.argv[3]))
"""


@pytest.fixture
def stead(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stead]:
    root = Path(tempfile.mkdtemp(prefix="ty-"))
    made = Stead(root)
    monkeypatch.setenv("TRAINYARD_HOME", made.home.path)
    monkeypatch.delenv("TRAINYARD_ENDPOINT", raising=False)
    monkeypatch.chdir(root)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


class Storm:
    """Random deeds, from one seed."""

    def __init__(self, stead: Stead) -> None:
        self.stead = stead
        self.dice = random.Random(SEED)
        self.runs: list[Any] = []
        self.asked: dict[str, tuple[int, int]] = {}  # run → steps, exit code
        self.canceled: set[str] = set()
        self.agents_killed: set[str] = set()
        self.scratch = stead.root / "jobs"
        self.scratch.mkdir()
        settings = AmlCompute.provisioning_configuration(
            vm_size="STANDARD_D2_V2", max_nodes=3, vm_priority="lowpriority"
        )
        self.cheap = ComputeTarget.create(stead.workspace, "cheap", settings)
        self.cheap.wait_for_completion()

    def step(self) -> None:
        deeds = [self.submit, self.cancel, self.kill_service, self.kill_guardian, self.kill_agent, self.preempt]
        [deed] = self.dice.choices(deeds, weights=(60, 6, 8, 14, 2, 6))
        deed()

    def submit(self) -> None:
        steps, code = self.dice.randint(1, 400), self.dice.choice((0, 0, 0, 0, 5))
        target = self.dice.choice((None, self.cheap))
        run = self.stead.submit(JOB, target=target, arguments=[self.scratch, steps, code])
        self.runs.append(run)
        self.asked[run.id] = (steps, code)

    def cancel(self) -> None:
        if live := self.live():
            run = self.dice.choice(live)
            run.cancel()
            self.canceled.add(run.id)

    def kill_service(self) -> None:
        if (running := self.stead.home.running()) is not None:
            kill(running.pid)

    def kill_guardian(self) -> None:
        if pid := self.stead.guardian_pid():
            kill(pid)

    def kill_agent(self) -> None:
        if live := self.live():
            run = self.dice.choice(live)
            for pid in self.stead.agent_pids(run):
                kill(pid)
            self.agents_killed.add(run.id)

    def preempt(self) -> None:
        with contextlib.suppress(AzureMLException):  # it has no node right now
            self.stead.workspace._clients.computes.preempt("cheap")

    def live(self) -> list[Any]:
        return [run for run in self.runs[-12:] if RunState(run.get_status()) not in TERMINAL]


def test_promises_hold_in_a_storm(stead):
    storm = Storm(stead)
    print(f"seed {SEED}, {SECONDS:.0f} s")
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        storm.step()
        if len(storm.live()) > 8:
            until(lambda: len(storm.live()) <= 8, 120)
    for run in storm.runs:
        run.wait_for_completion(raise_on_error=False)
    print(f"{len(storm.runs)} runs, {len(storm.canceled)} canceled, {len(storm.agents_killed)} with killed agents")
    expect_every_run_once(storm)
    for run in storm.runs:
        expect_legal_history(stead, run)
        expect_attempts_apart(stead, run)
        expect_everything_once(storm, run)


def expect_every_run_once(storm: Storm) -> None:
    made = [row[0] for row in storm.stead.rows("SELECT run_id FROM runs ORDER BY key")]
    assert made == [run.id for run in storm.runs]


def expect_legal_history(stead: Stead, run: Any) -> None:
    rows = stead.rows(
        "SELECT e.sequence, e.state, e.attempt, e.time_ns FROM run_events e JOIN runs r ON r.key = e.run_key "
        "WHERE r.run_id = ? ORDER BY e.sequence",
        run.id,
    )
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    for (_, before, old, _), (_, after, new, _) in itertools.pairwise(rows):
        restarted = after == RunState.QUEUED and old == new > 0
        assert restarted or RunState(after) in MOVES[RunState(before)], (run.id, rows)
        assert new == old + (after == RunState.STARTING), (run.id, rows)
    assert [RunState(row[1]) in TERMINAL for row in rows].index(True) == len(rows) - 1
    [(state,)] = stead.rows("SELECT state FROM runs WHERE run_id = ?", run.id)
    assert state == rows[-1][1]


def expect_attempts_apart(stead: Stead, run: Any) -> None:
    rows = stead.rows(
        "SELECT a.number, a.created_ns, a.ended_ns FROM attempts a JOIN runs r ON r.key = a.run_key "
        "WHERE r.run_id = ? ORDER BY a.number",
        run.id,
    )
    assert all(ended is not None for _, _, ended in rows), (run.id, rows)
    assert all(before[2] <= after[1] for before, after in itertools.pairwise(rows)), (run.id, rows)


def expect_everything_once(storm: Storm, run: Any) -> None:
    """Per attempt a gapless row of lines and metrics from 0 on; whole where the script came to its end undisturbed."""
    steps, code = storm.asked[run.id]
    by_attempt: dict[str, list[int]] = {}
    for line in storm.stead.log(run).decode().splitlines():
        owner, _, number = line.rpartition(" ")
        if number.isdigit():
            by_attempt.setdefault(owner, []).append(int(number))
    for numbers in by_attempt.values():
        assert numbers == list(range(len(numbers))), run.id
    values = run.get_metrics().get("n", [])
    values = values if isinstance(values, list) else [values]
    rows = [list(range(last + 1)) for last in _peaks(values)]
    assert sorted(values) == sorted(itertools.chain.from_iterable(rows)), run.id
    state = RunState(run.get_status())
    if run.id not in storm.canceled | storm.agents_killed:
        assert state is (RunState.COMPLETED if code == 0 else RunState.FAILED), told(run)
    if state is RunState.COMPLETED:
        assert steps in map(len, by_attempt.values()), run.id
        assert steps - 1 in values, run.id
        assert list(storm.scratch.glob(f"{run.id}.*.done")), run.id


def told(run: Any) -> str:
    """Its history in words, for whoever has to find out."""
    events = run._runs.events(run.id)
    return "\n".join([run.id, *(f"{e.time_ns} attempt {e.attempt} {e.state}: {e.reason} ({e.actor})" for e in events)])


def _peaks(values: list[int]) -> list[int]:
    """The last value of each attempt: where the count starts anew after it."""
    return [value for value, after in itertools.pairwise([*values, 0]) if after <= value]
