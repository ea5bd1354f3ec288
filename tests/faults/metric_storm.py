"""Jobs that log as fast as they can while scripts, agents and the service are killed with -9; then every series is
looked up. Short in tests/faults, minutes long in tests/soak."""

from __future__ import annotations

import json
import os
import random
import time
from typing import Any

from stead import Stead, kill

from trainyard.contract.states import TERMINAL, RunState

# Logs 0, 1, 2, … of two series and says in a file of its own how far it has come: what is said there was logged before.
JOB = """
import os, sys
from azureml.core import Run
run = Run.get_context()
said = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.pwrite(said, b"%010d" % os.getpid(), 16)
for n in range(int(sys.argv[2])):
    run.log('n', float(n))
    if n % 3 == 0:
        run.log('third', n, step=n)
    os.pwrite(said, b"%010d" % (n + 1), 0)
    if n % 9000 == 8999:
        run.flush(timeout_seconds=2)  # sends what the agent is sending, too
"""
STEPS = 40_000


class MetricStorm:
    """Everything from one seed."""

    def __init__(self, stead: Stead, seed: int) -> None:
        self.stead, self.dice = stead, random.Random(seed)
        self.runs: list[Any] = []
        self.agents_killed: set[str] = set()
        self.counts = {"scripts": 0, "agents": 0, "services": 0}

    def blow(self, seconds: float, kills: int = 1) -> None:
        """For so long, and until so many were killed."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends or sum(self.counts.values()) < kills:
            live = [run for run in self.runs[-4:] if RunState(run.get_status()) not in TERMINAL]
            if len(live) < 2:
                self.submit()
                continue
            time.sleep(self.dice.uniform(0.05, 0.4))
            deeds = (self.kill_service, self.kill_script, self.kill_agent)
            self.dice.choices(deeds, weights=(5, 4, 1))[0](self.dice.choice(live))
        for run in self.runs:
            run.wait_for_completion(raise_on_error=False)

    def submit(self) -> None:
        run = self.stead.submit(JOB, arguments=[self.stead.root / f"said-{len(self.runs)}", STEPS])
        self.runs.append(run)

    def kill_service(self, _run: Any) -> None:
        if (running := self.stead.home.running()) is not None:
            kill(running.pid)
            self.counts["services"] += 1

    def kill_script(self, run: Any) -> None:
        if pid := self._said(run)[1]:
            kill(pid)
            self.counts["scripts"] += 1

    def kill_agent(self, run: Any) -> None:
        for pid in self.stead.agent_pids(run):
            kill(pid)
            self.agents_killed.add(run.id)
            self.counts["agents"] += 1

    def expect_every_value_once(self) -> None:
        for run in self.runs:
            logged, _ = self._said(run)
            series = {one.name: one for one in run._runs.metrics(run.id)}
            values = list(series["n"].values) if "n" in series else []
            assert values == [float(n) for n in range(len(values))], (run.id, len(values))
            thirds = list(series["third"].values) if "third" in series else []
            assert thirds == list(range(0, 3 * len(thirds), 3)), (run.id, len(thirds))
            assert list(series["third"].steps if thirds else ()) == thirds
            if run.id not in self.agents_killed:  # an agent takes what it had not sent yet with it
                assert logged <= len(values) <= logged + 1, (run.id, logged, len(values))
                assert abs(3 * len(thirds) - len(values)) <= 3
            if run.get_status() == RunState.COMPLETED:
                assert len(values) == STEPS
            self._expect_summaries(run, values)

    def _expect_summaries(self, run: Any, values: list[float]) -> None:
        rows = self.stead.rows(
            "SELECT m.count, m.min, m.max, m.last FROM metrics m JOIN runs r ON r.key = m.run_key "
            "WHERE r.run_id = ? AND m.name = 'n'",
            run.id,
        )
        assert rows == ([(len(values), 0.0, values[-1], values[-1])] if values else []), run.id

    def _said(self, run: Any) -> tuple[int, int]:
        """How many it has logged for certain, and its process."""
        path = self.stead.root / f"said-{self.runs.index(run)}"
        if not os.path.exists(path):
            return 0, 0
        text = path.read_bytes().ljust(26, b"\0")
        return int(text[:10].strip(b"\0") or 0), int(text[16:26].strip(b"\0") or 0)


def report(storm: MetricStorm) -> str:
    states = [run.get_status() for run in storm.runs]
    ended = {state: states.count(state) for state in set(states)}
    return json.dumps({"runs": len(storm.runs), **storm.counts, **ended})
