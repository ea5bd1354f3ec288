"""One logged number inside a training loop, beside the bare write of as many bytes."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable

from measure import Row, show, side_by_side

from trainyard.contract.tape import CELL, TapeWriter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="log-benchmark-") as folder:
        measure(folder, given.calls, given.rounds)


def measure(folder: str, calls: int, rounds: int) -> None:
    bare = os.open(os.path.join(folder, "bare"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    cell = bytes(CELL)
    writer = TapeWriter(os.path.join(folder, "tape"))
    with open(os.path.join(folder, "csv"), "w", encoding="ascii") as file:

        def csv_line() -> None:
            file.write("loss,0.25\n")
            file.flush()

        works = {
            "os.write": lambda: os.write(bare, cell),
            "TapeWriter.number": lambda: writer.number("loss", 0.25),
            "csv, flushed": csv_line,
        }
        logged = run_log(folder)
        if logged is not None:
            works["Run.log"] = logged
        times = side_by_side(rounds, *[repeat(work, calls) for work in works.values()])
    each = {name: statistics.median(taken) / calls * 1e6 for name, taken in zip(works, times, strict=True)}
    bare_us = each.pop("os.write")
    rows = [
        Row(name, taken, bare_us, "µs", 2 if name == "Run.log" else None, "os.write") for name, taken in each.items()
    ]
    show(f"a number logged, median of {rounds} rounds of {calls:,} calls", rows)
    if logged is None:
        print("Run.log: azureml.core has no run that can be made without a service here; left out.")
    writer.close()
    os.close(bare)


def repeat(work: Callable[[], object], calls: int) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(calls):
            work()

    return loop


def run_log(folder: str) -> Callable[[], object] | None:
    """Run.log as a script in a job calls it: the context is what an agent would have written."""
    from trainyard.contract.attempts import JOB_CONTEXT_VARIABLE, JobContext

    try:
        from azureml.core import Run
    except ImportError:
        return None
    context = JobContext(
        *("bench_1_00000000", 1, "attempt", "w", "bench", "s", "g", "bench", "e", "http://127.0.0.1:9", None),
        spool=folder,
        working=folder,
    )
    path = os.path.join(folder, "job.json")
    context.write(path)
    os.environ[JOB_CONTEXT_VARIABLE] = path
    run = Run.get_context()
    return (lambda: run.log("loss", 0.25)) if hasattr(run, "log") else None


if __name__ == "__main__":
    main()
