"""Logging numbers with us and with the trackers people use: what a call costs, how long until all of it is durable, and
how much a training loop is slowed down by a thousand logs a second. Peers that are not installed are left out."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from measure import Row, show
from scratch import scratch

SLOW = 2_000  # calls of a peer that takes half a millisecond or more for each; its total is scaled


@dataclass(frozen=True)
class Tracker:
    name: str
    log: Callable[[float, int], object]  # (value, step)
    finish: Callable[[], object]  # returns when everything is durable
    calls: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--training", type=float, default=4.0, help="seconds of training for each tracker")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="trackers-") as folder, trackers(folder, given.points) as found:
        calls(found, given.points)
        training(found, given.training)


@contextlib.contextmanager
def trackers(folder: str, points: int) -> Iterator[list[Tracker]]:
    with scratch() as yard, contextlib.ExitStack() as stack:
        from azureml.core import Experiment

        run = Experiment(yard.workspace, "bench").start_logging(snapshot_directory=None, outputs=folder)
        found = [Tracker("Trainyard", lambda value, step: run.log("loss", value, step=step), run.flush, points)]
        for make in (tensorboard, mlflow_file, mlflow_sql, mlflow_sql_async):
            try:
                found.append(make(folder, points, stack))
            except Exception as error:  # noqa: BLE001 - a peer that is not here, or not in this version
                print(f"{make.__name__}: left out ({error.__class__.__name__}: {str(error).splitlines()[0][:90]})")
        yield found
        run.complete()


def tensorboard(folder: str, points: int, stack: contextlib.ExitStack) -> Tracker:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(os.path.join(folder, "tensorboard"))
    stack.callback(writer.close)
    return Tracker(
        "TensorBoard", lambda value, step: writer.add_scalar("loss", value, step), writer.flush, points // 10
    )


def mlflow_file(folder: str, _: int, __: contextlib.ExitStack) -> Tracker:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # recent versions warn people off it
    return _mlflow("MLflow, files", f"file://{folder}/mlruns", {})


def mlflow_sql(folder: str, _: int, __: contextlib.ExitStack) -> Tracker:
    return _mlflow("MLflow, SQLite", f"sqlite:///{folder}/mlflow.db", {})


def mlflow_sql_async(folder: str, _: int, __: contextlib.ExitStack) -> Tracker:
    return _mlflow("MLflow, SQLite, asynchronous", f"sqlite:///{folder}/mlflow.db", {"synchronous": False})


def _mlflow(name: str, address: str, how: dict[str, bool]) -> Tracker:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(address)
    run_id = client.create_run("0").info.run_id
    waiting: list[object] = []

    def log(value: float, step: int) -> None:
        if (operation := client.log_metric(run_id, "loss", value, step=step, **how)) is not None:
            waiting.append(operation)

    def finish() -> None:
        for operation in waiting:
            operation.wait()  # type: ignore[attr-defined]
        waiting.clear()

    return Tracker(name, log, finish, SLOW)


def calls(found: list[Tracker], points: int) -> None:
    each: dict[str, tuple[float, float]] = {}
    for tracker in found:
        began = time.perf_counter()
        for step in range(tracker.calls):
            tracker.log(0.25, step)
        called = time.perf_counter()
        tracker.finish()
        done = time.perf_counter()
        each[tracker.name] = ((called - began) / tracker.calls * 1e6, (done - began) / tracker.calls * points)
    ours = each.pop("Trainyard")
    show("a call with a step", [Row("Trainyard", ours[0], peer[0], "µs", None, name) for name, peer in each.items()])
    show(
        f"{points:,} points to durable, one call each (peers: fewer, scaled)",
        [Row("Trainyard", ours[1], peer[1], "s", None, name) for name, peer in each.items()],
    )


def training(found: list[Tracker], seconds: float) -> None:
    """Steps of a millisecond, one log in each: the same steps with and without it, in turns."""
    rows = []
    for tracker in found:
        bare = logged = 0.0
        rounds = max(1, round(seconds / 0.4)) if tracker.calls > SLOW else 1
        for number in range(rounds):
            bare += _train(_nothing)
            logged += _train(tracker.log, number * 200)
        tracker.finish()
        rows.append(Row(tracker.name, logged / rounds / 200 * 1e3, bare / rounds / 200 * 1e3, "ms", None, "no logging"))
    show("a training step of about 1 ms that logs one number", rows)


def _nothing(_value: float, _step: int) -> None:
    pass


def _train(log: Callable[[float, int], object], first: int = 0) -> float:
    began = time.perf_counter()
    for step in range(200):
        total = 0
        for number in range(34_000):
            total += number
        log(float(total), first + step)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
