"""System metrics: what the kernel counts, and what an attempt tells of it."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from yard import Yard

from trainyard.agent import usage
from trainyard.agent.gpus import Gpus
from trainyard.contract.tape import FLOAT, NAME, records

BURN = """
import os, time
held = bytearray(64 << 20)
until = time.monotonic() + 2.7
while time.monotonic() < until:
    pass
os._exit(0)  # with its memory: Python would let it go before it ends
"""


def series(cells: bytes) -> dict[str, list[float]]:
    names: dict[int, str] = {}
    found: dict[str, list[float]] = {}
    for record in records(cells):
        if record.kind == NAME:
            names[record.name] = record.value
        elif record.kind == FLOAT:
            found.setdefault(names[record.name], []).append(record.value)
    return found


def test_what_a_rank_uses_is_told(yard: Yard) -> None:
    heard = yard.run(BURN)
    found = series(heard.streams["node-0/system"])
    cpu = found["node-0/rank-0/cpu_percent"]
    assert len(cpu) >= 2
    assert 5 < max(cpu) <= 110
    assert min(found["node-0/rank-0/memory_bytes"]) > 64 << 20
    assert all(0 <= value <= 100 for value in found["node-0/cpu_percent"])
    assert min(found["node-0/memory_bytes"]) > 64 << 20
    assert min(found["node-0/disk_free_bytes"]) > 0


def test_a_short_run_pays_nothing(yard: Yard) -> None:
    assert "node-0/system" not in yard.run("print(1)").streams


def test_a_rank_that_has_ended_uses_nothing() -> None:
    """Rather than no memory: its chart would end with a fall that never was."""
    with subprocess.Popen(["sleep", "60"], env={"TRAINYARD_JOB": "/x/job-0.json"}) as rank:
        ranks = usage.Ranks()
        while not (seen := ranks.look(os.getpid(), set())):
            pass  # the kernel is about to lay out its variables: one that starts is looked at again
        assert seen[0].memory > 0
        rank.kill()
        os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOWAIT)
        assert ranks.look(os.getpid(), set()) == {}


def test_processor_time() -> None:
    assert usage._cpu("cpu  100 5 50 1000 20 1 2 3 7 0\ncpu0 1 2 3\n") == (161, 1181)


def test_memory_in_use() -> None:
    assert usage._memory("MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  400 kB\n") == 600 * 1024


def test_disks_count_once() -> None:
    stats = "8 0 sda 1 0 10 0 1 0 4 0 0 0 0\n8 1 sda1 1 0 10 0 1 0 4 0 0 0 0\n7 0 loop0 9 9 9 9 9 9 9 9 9 9 9\n"
    assert usage._disks(stats, {"sda"}) == (5120, 2048)


def test_what_stays_on_the_node_is_no_traffic() -> None:
    table = "h\nh\n lo: 9 9 9 9 9 9 9 9 9 9 9\n eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n"
    assert usage._network(table) == (100, 200)


def test_without_the_library_there_are_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", missing)
    gpus = Gpus()
    assert gpus.look() == []
    gpus.close()


def test_counters_only_grow() -> None:
    before = usage.node_counters("/")
    time.sleep(0.02)
    after = usage.node_counters("/")
    assert before is not None
    assert after is not None
    assert after.all_ticks >= before.all_ticks > 0
