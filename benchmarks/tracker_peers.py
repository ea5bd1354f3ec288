"""The trackers people use, each as a program of its own, so that none warms or burdens the next: what a call costs, how
long until all of it is durable, and what a training loop loses to a thousand logs a second. trackers.py starts it:
python benchmarks/tracker_peers.py NAME POINTS SECONDS. It needs nothing but the peer, so any interpreter will do."""

from __future__ import annotations

import json
import logging
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass

STEPS = 100  # of a round of training, with and without logging in turns
STEP_S = 0.001


@dataclass(frozen=True)
class Tracker:
    log: Callable[[float, int], object]  # (value, step)
    finish: Callable[[], object]  # returns when everything is durable
    share: int = 1  # so many times fewer points for who is slow; the total is scaled


@dataclass(frozen=True)
class Measured:
    call_us: float
    cpu_us: float  # of this process and its threads, for a call
    durable_s: float
    training: float  # time of a step that logs, by that of one that does not


def measure(make: Callable[[], Tracker], points: int, seconds: float) -> Measured:
    tracker = make()
    count = max(1, points // tracker.share)
    cpu, began = time.process_time(), time.perf_counter()
    for step in range(count):
        tracker.log(0.25, step)
    called = time.perf_counter()
    tracker.finish()
    done = time.perf_counter()
    cpu = time.process_time() - cpu
    lost = training(make(), seconds)
    return Measured(
        (called - began) / count * 1e6, cpu / count * 1e6, (done - began) * points / count, statistics.median(lost)
    )


def training(tracker: Tracker, seconds: float) -> list[float]:
    """Rounds of the same steps, bare and logging in turns: a busy moment of the machine hits both."""
    work = _work_of(STEP_S)
    found = []
    for number in range(max(3, round(seconds / (2 * STEPS * STEP_S)))):
        bare = _train(work, lambda _value, _step: None, 0)
        found.append(_train(work, tracker.log, number * STEPS) / bare)
    tracker.finish()
    return found


def _train(work: int, log: Callable[[float, int], object], first: int) -> float:
    began = time.perf_counter()
    for step in range(STEPS):
        log(float(sum(range(work))), first + step)
    return time.perf_counter() - began


def _work_of(seconds: float) -> int:
    """How many numbers this machine adds up in so many seconds of its processor."""
    tries = []
    for _ in range(5):
        began = time.thread_time()
        sum(range(1_000_000))
        tries.append(time.thread_time() - began)
    return max(1, round(seconds / min(tries) * 1_000_000))


def tensorboard(folder: str) -> Tracker:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder)
    return Tracker(lambda value, step: writer.add_scalar("loss", value, step), writer.flush, 10)


def mlflow(address: str, synchronous: bool) -> Callable[[str], Tracker]:
    def made(folder: str) -> Tracker:
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # recent versions warn people off it
        from mlflow.tracking import MlflowClient

        client = MlflowClient(address.format(folder=folder))
        run_id = client.create_run("0").info.run_id
        waiting: list[object] = []

        def log(value: float, step: int) -> None:
            if (sent := client.log_metric(run_id, "loss", value, step=step, synchronous=synchronous)) is not None:
                waiting.append(sent)

        def finish() -> None:
            for operation in waiting:
                operation.wait()  # type: ignore[attr-defined]
            waiting.clear()

        return Tracker(log, finish, 500)

    return made


def wandb(folder: str) -> Tracker:
    import wandb as peer

    run = peer.init(
        mode="offline", dir=folder, project="bench", settings=peer.Settings(silent=True), reinit="finish_previous"
    )
    return Tracker(lambda value, step: run.log({"loss": value}, step=step), run.finish, 10)


def aim(folder: str) -> Tracker:
    from aim import Run

    run = Run(repo=folder, system_tracking_interval=None, log_system_params=False, capture_terminal_logs=False)
    return Tracker(lambda value, step: run.track(value, name="loss", step=step), run.close, 50)


PEERS: dict[str, Callable[[str], Tracker]] = {
    "TensorBoard": tensorboard,
    "MLflow, files": mlflow("file://{folder}/mlruns", True),
    "MLflow, files, asynchronous": mlflow("file://{folder}/mlruns", False),
    "MLflow, SQLite": mlflow("sqlite:///{folder}/mlflow.db", True),
    "MLflow, SQLite, asynchronous": mlflow("sqlite:///{folder}/mlflow.db", False),
    "W&B, offline": wandb,
    "Aim": aim,
}


def main(name: str, points: int, seconds: float) -> int:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="tracker-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)

        def make() -> Tracker:
            return PEERS[name](tempfile.mkdtemp(dir=folder))

        try:
            found = measure(make, points, seconds)
        except Exception as error:  # noqa: BLE001 - a peer that is not here, or not in this version
            print(json.dumps({"why": f"{error.__class__.__name__}: {(str(error).splitlines() or [''])[0][:90]}"}))
            return 1
    print(json.dumps(asdict(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
