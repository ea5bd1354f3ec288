"""From cancel() to the last process gone, a stubborn script and its daemonised grandchild included."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator

import psutil
from measure import Row, show
from scratch import PYTHON, Scratch, scratch

TIMES = 5
SCRIPT = """
import os, signal, time
{stubborn}
ready, up = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.write(up, b"1")
        time.sleep(600)
    os._exit(0)
os.wait()
os.read(ready, 1)
print(os.getpid(), flush=True)
print("up", flush=True)
time.sleep(600)
"""


def main() -> None:
    with scratch() as yard:
        plain = yard.script("plain", SCRIPT.format(stubborn=""))
        stubborn = yard.script("stubborn", SCRIPT.format(stubborn="signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
        bare = statistics.median(_killed(plain) for _ in range(TIMES))
        ours = statistics.median(_canceled(yard, plain) for _ in range(TIMES))
        worst = statistics.median(_canceled(yard, stubborn) for _ in range(TIMES))
    over = "kill -9 by hand"
    show(
        "cancel to the last process gone",
        [
            Row("a script and its daemonised grandchild", ours, bare, unit="ms", budget=5000, over=over),
            Row("the same, ignoring SIGTERM", worst, bare, unit="ms", budget=5000, over=over),
        ],
    )


def _canceled(yard: Scratch, script: str) -> float:
    run = yard.submit(script)
    pids = _pids(yard.lines(run))
    begun = time.perf_counter()
    run.cancel()
    _wait_gone(pids)
    seconds = time.perf_counter() - begun
    run.wait_for_completion(wait_post_processing=True)
    assert run.get_status() == "Canceled", run.get_status()
    return seconds * 1e3


def _killed(script: str) -> float:
    with subprocess.Popen([PYTHON, script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = _pids(iter(process.stdout.readline, ""))
        begun = time.perf_counter()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        process.wait()
        _wait_gone(pids)
        return (time.perf_counter() - begun) * 1e3


def _pids(lines: Iterator[str]) -> list[int]:
    """Those the script prints before it says that it is up."""
    pids = []
    for line in lines:
        if line.strip() == "up":
            break
        pids.append(int(line))
    assert len(pids) == 2, pids
    return pids


def _wait_gone(pids: list[int]) -> None:
    """A process that has ended and was not yet waited for holds nothing any more: it counts as gone."""
    while any(_lives(pid) for pid in pids):
        time.sleep(0.002)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


if __name__ == "__main__":
    main()
