"""MLflow's own server fed by as many ranks at once, for many_ranks.py: batches of a thousand values, its largest, from
clients that are as many processes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

import psutil

BATCH = 1000
START_S = 300.0

# As our senders: several ranks in a process, each with its batches one after the other. Prints the seconds of each.
SENDER = """
import json, sys, threading, time, urllib.request
address, run, ranks, batches, size = sys.argv[1:3] + [int(word) for word in sys.argv[3:]]
taken = []
def rank():
    for batch in range(batches):
        first = batch * size
        values = [{"key": f"m{at % 10:05}", "value": at * 0.5, "timestamp": at, "step": at} for at in range(first, first + size)]
        body = json.dumps({"run_id": run, "metrics": values}).encode()
        asked = urllib.request.Request(f"{address}/api/2.0/mlflow/runs/log-batch", body, {"Content-Type": "application/json"})
        began = time.perf_counter()
        urllib.request.urlopen(asked, timeout=600).read()
        taken.append(time.perf_counter() - began)
threads = [threading.Thread(target=rank) for _ in range(ranks)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*taken)
"""  # noqa: E501


@dataclass(frozen=True)
class Fed:
    rate: float  # values a second
    taken: list[float]  # seconds of each batch
    memory: int  # bytes of the server and its workers, at most


def feed(ranks: int, processes: int, batches: int) -> Fed | str:
    """Else why not."""
    with tempfile.TemporaryDirectory(prefix="mlflow-", ignore_cleanup_errors=True) as folder:
        port = _free_port()
        store = f"sqlite:///{folder}/mlflow.db"
        argv = [
            sys.executable,
            "-m",
            "mlflow",
            "server",
            "--backend-store-uri",
            store,
            "--default-artifact-root",
            folder,
        ]
        argv += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        quiet = subprocess.DEVNULL
        server = psutil.Popen(argv, stdout=quiet, stderr=quiet, cwd=folder)
        try:
            return _feed(server, f"http://127.0.0.1:{port}", ranks, processes, batches)
        except (OSError, urllib.error.URLError, TimeoutError) as error:
            return f"MLflow's server: {error}"
        finally:
            for process in [*server.children(recursive=True), server]:
                process.terminate()
            server.wait(20)


def _feed(server: psutil.Popen, address: str, ranks: int, processes: int, batches: int) -> Fed:
    _await(f"{address}/health", server)
    runs = [_new_run(address) for _ in range(processes)]  # a run for each process: kinder than one for all
    peak, began = 0, time.perf_counter()
    words = [str(ranks // processes), str(batches), str(BATCH)]
    senders = [
        subprocess.Popen([sys.executable, "-c", SENDER, address, run, *words], stdout=subprocess.PIPE, text=True)
        for run in runs
    ]
    while any(sender.poll() is None for sender in senders):
        family = [server, *server.children(recursive=True)]
        peak = max(peak, sum(process.memory_info().rss for process in family if process.is_running()))
        time.sleep(0.05)
    spent = time.perf_counter() - began
    taken = [float(word) for sender in senders for word in sender.communicate()[0].split()]
    return Fed(len(taken) * BATCH / spent, taken, peak)


def _new_run(address: str) -> str:
    body = json.dumps({"experiment_id": "0", "start_time": 1}).encode()
    asked = urllib.request.Request(f"{address}/api/2.0/mlflow/runs/create", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return str(json.load(answer)["run"]["info"]["run_id"])


def _await(address: str, server: psutil.Popen) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (OSError, urllib.error.URLError):
            if server.poll() is not None:
                raise OSError(f"ended with exit code {server.returncode}") from None
            time.sleep(0.2)
    raise TimeoutError(f"is not there after {START_S:.0f} s")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
