"""A line's way from the script's print() to a reader that follows the run, beside a plain pipe."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterable

from measure import Row, show
from scratch import PYTHON, scratch

LINES = 200
SCRIPT = f"""
import time
for _ in range({LINES}):
    print(time.time_ns(), flush=True)
    time.sleep(0.02)
"""


def main() -> None:
    with scratch() as yard:
        script = yard.script("lines", SCRIPT)
        with subprocess.Popen([PYTHON, script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            pipe = _delays(process.stdout)
        run = yard.submit(script)
        ours = _delays(yard.lines(run))
        run.wait_for_completion(wait_post_processing=True)
    assert len(pipe) == len(ours) == LINES
    show(
        f"a log line from script to reader ({LINES} lines, 50 a second)",
        [
            Row("median", statistics.median(ours), statistics.median(pipe), unit="ms", budget=50, over="pipe"),
            Row("95 of 100", _at(ours, 0.95), _at(pipe, 0.95), unit="ms", budget=50, over="pipe"),
            Row("slowest", max(ours), max(pipe), unit="ms", over="pipe"),
        ],
    )


def _delays(lines: Iterable[str]) -> list[float]:
    return [(time.time_ns() - int(line)) / 1e6 for line in lines]


def _at(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


if __name__ == "__main__":
    main()
