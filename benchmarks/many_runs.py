"""200 trivial runs queued at once on two nodes, to the last one finished, beside `xargs -P2`."""

from __future__ import annotations

import subprocess
import time

from measure import Row, show
from scratch import PYTHON, Scratch, scratch

from trainyard.contract.runs import RunQuery
from trainyard.contract.states import ACTIVE, RunState

RUNS = 200
NODES = 2


def main() -> None:
    with scratch(NODES) as yard:
        script = yard.script("trivial", "pass\n")
        bare = _xargs(script)
        queued, finished = _ours(yard, script)
    per_run, bare_per_run = finished / RUNS * 1e3, bare / RUNS * 1e3
    over = f"xargs -P{NODES}"
    show(
        f"{RUNS} trivial runs at once on {NODES} nodes",
        [
            Row("all queued, per run", queued / RUNS * 1e3, None, unit="ms"),
            Row("first submit to last end, per run", per_run, bare_per_run, unit="ms", over=over),
            Row("ours alone, per run", per_run - bare_per_run, bare_per_run, unit="ms", budget=15, over=over),
        ],
    )


def _xargs(script: str) -> float:
    begun = time.perf_counter()
    names = "".join(f"{number}\n" for number in range(RUNS))
    subprocess.run(["xargs", f"-P{NODES}", "-n1", PYTHON, script], input=names, text=True, check=True)
    return time.perf_counter() - begun


def _ours(yard: Scratch, script: str) -> tuple[float, float]:
    """Seconds until all were queued, and until the last had ended."""
    begun = time.perf_counter()
    runs = [yard.submit(script) for _ in range(RUNS)]
    queued = time.perf_counter() - begun
    active = RunQuery(states=tuple(ACTIVE), limit=1)
    while oldest := yard.runs.find(active):
        yard.runs.wait(oldest[0].run_id, oldest[0].events, timeout_s=1.0)
    finished = time.perf_counter() - begun
    ended = yard.runs.find_all(RunQuery(states=(RunState.COMPLETED,), limit=100))
    completed = {run.run_id for run in ended}
    assert all(run.id in completed for run in runs), "a run was lost or failed"
    return queued, finished


if __name__ == "__main__":
    main()
