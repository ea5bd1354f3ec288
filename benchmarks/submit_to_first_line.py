"""From submit() to the script's first line in the submitter's hands, warm and embedded, beside the bare command."""

from __future__ import annotations

import os
import statistics
import subprocess
import time

from measure import Row, show
from scratch import PYTHON, Scratch, scratch

TIMES = 15
SCRIPT = "print('here', flush=True)\n"


def main() -> None:
    with scratch() as yard:
        script = yard.script("first", SCRIPT)
        bare = statistics.median(_piped([PYTHON, script]) for _ in range(TIMES))
        sdk = statistics.median(_submitted(yard, script) for _ in range(TIMES))
        shell = [PYTHON, "-m", "trainyard.cli.main", "run", script, "--target", "bench", "--workspace", "bench"]
        command = statistics.median(_piped(shell) for _ in range(TIMES))
    show(
        "submit to the script's first line",
        [
            Row("Experiment.submit, then reading its log", sdk, bare, unit="ms", budget=300, over="python script.py"),
            Row("`trainyard run script.py` in a shell", command, bare, unit="ms", over="python script.py"),
        ],
    )


def _submitted(yard: Scratch, script: str) -> float:
    begun = time.perf_counter()
    run = yard.submit(script)
    lines = yard.lines(run)
    assert next(lines) == "here"
    seconds = time.perf_counter() - begun
    run.wait_for_completion(wait_post_processing=True)
    return seconds * 1e3


def _piped(command: list[str]) -> float:
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        seconds = time.perf_counter() - begun
    return seconds * 1e3


if __name__ == "__main__":
    main()
