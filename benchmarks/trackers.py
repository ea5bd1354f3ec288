"""Logging numbers with us and with the trackers people use: what a call costs, how long until all of it is durable, and
how much a training loop is slowed down by a thousand logs a second. Peers that are not installed are left out; those of
another environment are found with --python, such as `--python /tmp/peers/bin/python` after `pip install wandb aim`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from measure import number
from scratch import scratch
from tracker_peers import PEERS, Measured, Tracker, measure

CALL_US, TRAINING = 2, 1.01  # budgets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--training", type=float, default=4.0, help="seconds of training for each tracker")
    parser.add_argument("--python", action="append", default=[], help="an interpreter that has other peers")
    given = parser.parse_args()
    ours = trainyard(given.points, given.training)
    peers: dict[str, Measured] = {}
    for name in PEERS:
        found = peer(name, [sys.executable, *given.python], given.points, given.training)
        if isinstance(found, Measured):
            peers[name] = found
        else:
            print(f"{name}: left out ({found})")
    table(given.points, ours, peers)


def table(points: int, ours: Measured, peers: Mapping[str, Measured]) -> None:
    """A line for each tracker; in brackets how many times what ours takes."""
    head = ("", "a call with a step", "its processor time", f"{points:,} points to durable", "a 1 ms step that logs")
    lines = [head, _cells("Trainyard", ours, None), *(_cells(name, it, ours) for name, it in peers.items())]
    lines.append(("budget", f"{CALL_US:.2f} µs", "", "", f"{TRAINING:.3f} of its time"))
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    for line in lines:
        print("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    for what, value, budget in (("a call", ours.call_us, CALL_US), ("a step", ours.training, TRAINING)):
        if value > budget:
            print(f"MISSED: the budget of {what}, by {value / budget:.2f}x")


def _cells(name: str, it: Measured, ours: Measured | None) -> tuple[str, str, str, str, str]:
    def cell(value: float, unit: str, own: float | None) -> str:
        text = number(value, unit)
        return text if own is None else f"{text} ({value / own:,.{0 if value >= 10 * own else 1}f}x)"

    return (
        name,
        cell(it.call_us, "µs", ours and ours.call_us),
        cell(it.cpu_us, "µs", ours and ours.cpu_us),
        cell(it.durable_s, "s", ours and ours.durable_s),
        f"{it.training:.3f} of its time",
    )


def trainyard(points: int, seconds: float) -> Measured:
    with scratch() as yard:
        from azureml.core import Experiment, Run

        begun: list[Run] = []

        def make() -> Tracker:
            run = Experiment(yard.workspace, "bench").start_logging(snapshot_directory=None, outputs=yard.folder)
            begun.append(run)
            return Tracker(lambda value, step: run.log("loss", value, step=step), run.flush)

        found = measure(make, points, seconds)
        assert begun[0]._runs.chart(begun[0].id, "loss", 10).count == points, "every point is there once"
        for run in begun:
            run.complete()
    return found


def peer(name: str, pythons: Sequence[str], points: int, seconds: float) -> Measured | str:
    """Measured by the first interpreter that can; else why it was not."""
    why = ""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracker_peers.py")
    for python in pythons:
        argv = [python, script, name, str(points), str(seconds)]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        told = json.loads(lines[-1]) if lines else {"why": f"it ended with exit code {done.returncode}"}
        if "why" not in told:
            return Measured(**told)
        why = why or told["why"]
    return why


if __name__ == "__main__":
    main()
