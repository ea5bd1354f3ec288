"""One service fed by many ranks at once: 64 streams of one run, each a sender of its own. How many points a second are
accepted, how long a batch takes, and how much memory the service has meanwhile; beside MLflow's server on SQLite, which
gets fewer, in batches of its own largest size, and beside as many plain rows of SQLite."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

import psutil
from measure import Row, show
from metrics_ingest import plain_rows
from mlflow_ranks import BATCH
from mlflow_ranks import feed as feed_mlflow
from scratch import scratch

from azureml.core import Experiment, Run
from trainyard.client.home import Home

RATE = 2_000_000  # points a second, the budget

# A process with several ranks: each sends its batches one after the other, all at once. Prints the seconds of each.
SENDER = """
import sys, threading, time
from trainyard.contract.tape import CELL
from trainyard.sdk.service import Yard
import os
workspace, run, first, ranks, batches, points = sys.argv[1:3] + [int(word) for word in sys.argv[3:]]
sys.path.insert(0, os.environ["BENCHMARKS"])
from metrics_ingest import tape
runs = Yard.from_env(os.environ).runs(workspace)
taken = []
def rank(number):
    names, cells = tape(points, 10)
    sent = 0
    for batch in range(batches):
        data = (names if batch == 0 else b"") + cells
        began = time.perf_counter()
        sent = runs.send_tape(run, f"rank-{number}", sent, data)
        taken.append(time.perf_counter() - began)
threads = [threading.Thread(target=rank, args=(first + number,)) for number in range(ranks)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*taken)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--batches", type=int, default=8, help="of each rank")
    parser.add_argument("--points", type=int, default=20_000, help="in a batch")
    parser.add_argument("--peer-batches", type=int, default=4, help="of each rank, to MLflow's server; 0: without it")
    given = parser.parse_args()
    with scratch() as yard:
        run = Experiment(yard.workspace, "bench").start_logging(snapshot_directory=None, outputs=yard.folder)
        total = given.ranks * given.batches * given.points
        memory_before, seconds, taken, memory, cpu = feed(run, given)
        counts = [series.values for series in run._runs.metrics(run.id, "m00000")]
        assert sum(map(len, counts)) == total // 10, "every point is there once"
        run.complete()
    each, plain = seconds / total * 1e6, 1e6 / plain_rows(200_000)
    rows = [
        Row("a point", each, plain, "µs", 1e6 / RATE, "plain SQLite rows"),
        Row("of it processor time of the service", cpu / total * 1e6, None, "µs", 1e6 / RATE),
        Row(f"a batch of {given.points:,} points, median", statistics.median(taken) * 1e3),
        Row("the slowest batch", max(taken) * 1e3),
        Row("the service's memory, at most", memory / 1e6, memory_before / 1e6, "MB", None, "idle"),
    ]
    peers = given.peer_batches
    peer = feed_mlflow(given.ranks, given.processes, peers) if peers else "MLflow's server was not asked for"
    if isinstance(peer, str):
        print(f"left out: {peer}")
    else:
        rows[1:1] = [Row("a point", each, 1e6 / peer.rate, "µs", None, "MLflow's server")]
        rows.append(Row("the slowest batch", max(taken) * 1e3, max(peer.taken) * 1e3, over=f"MLflow's, of {BATCH:,}"))
        rows.append(Row("memory, at most", memory / 1e6, peer.memory / 1e6, "MB", None, "MLflow's server"))
    show(f"{given.ranks} ranks at once, {total:,} points: {total / seconds:,.0f} a second", rows)


def feed(run: Run, given: argparse.Namespace) -> tuple[float, float, list[float], float, float]:
    service = psutil.Process(Home.default(dict(os.environ)).ensure_running().pid)
    idle = peak = service.memory_info().rss
    each = given.ranks // given.processes
    workspace = run._experiment.workspace._workspace_id_internal
    variables = {**os.environ, "BENCHMARKS": os.path.dirname(os.path.abspath(__file__))}
    cpu = sum(service.cpu_times()[:2])
    began = time.perf_counter()
    senders = []
    for at in range(given.processes):
        words = [workspace, run.id, *map(str, (at * each, each, given.batches, given.points))]
        argv = [sys.executable, "-c", SENDER, *words]
        senders.append(subprocess.Popen(argv, env=variables, stdout=subprocess.PIPE, text=True))
    while any(sender.poll() is None for sender in senders):
        peak = max(peak, service.memory_info().rss)
        time.sleep(0.05)
    seconds = time.perf_counter() - began
    taken = [float(word) for sender in senders for word in sender.communicate()[0].split()]
    return idle, seconds, taken, peak, sum(service.cpu_times()[:2]) - cpu


if __name__ == "__main__":
    main()
