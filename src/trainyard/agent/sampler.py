"""System metrics of a node and its ranks: a thread that looks now and then, and writes what it saw to a tape that
travels with the reports that are sent anyway. It looks less and less often, so that a day costs little."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from trainyard.agent.gpus import Gpus
from trainyard.agent.streams import note
from trainyard.agent.usage import NodeCounters, Ranks, node_counters
from trainyard.contract.tape import TapeWriter

_FIRST_S, _GROWTH, _LONGEST_S = 0.75, 1.2, 10.0


class Sampler:
    """Names are `node-<n>/cpu_percent`, `node-<n>/rank-<r>/memory_bytes`, `node-<n>/gpu-<i>/utilization_percent`..."""

    def __init__(self, tape: str, node: int, folder: str, gpus: Sequence[str], spared: Callable[[], set[int]]) -> None:
        self._tape = tape
        self._node = f"node-{node}"
        self._folder = folder
        self._visible = gpus
        self._spared = spared
        self._ranks = Ranks()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="system-metrics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing is written after this."""
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            self._sample()
        except OSError as error:
            note(f"System metrics are not measured any more: {error}")

    def _sample(self) -> None:
        pause_s = _FIRST_S
        if (before := node_counters(self._folder)) is None:
            return
        at = time.monotonic()
        self._ranks.look(os.getpid(), self._spared())
        gpus: Gpus | None = None
        writer: TapeWriter | None = None
        while not self._stop.wait(pause_s):
            writer = writer or TapeWriter(self._tape)
            gpus = gpus or Gpus(self._visible)  # loading the library takes a while: not for short runs
            after, now = node_counters(self._folder), time.monotonic()
            if after is None:
                break
            self._write(writer, before, after, now - at, gpus)
            before, at = after, now
            pause_s = min(_LONGEST_S, pause_s * _GROWTH)
        if gpus is not None:
            gpus.close()
        if writer is not None:
            writer.close()

    def _write(self, writer: TapeWriter, before: NodeCounters, after: NodeCounters, seconds: float, gpus: Gpus) -> None:
        ticks = after.all_ticks - before.all_ticks
        seen: dict[str, float | None] = {
            "cpu_percent": 100 * (after.busy_ticks - before.busy_ticks) / ticks if ticks > 0 else 0.0,
            "memory_bytes": after.memory,
            "disk_free_bytes": after.disk_free,
            "disk_read_bytes_per_s": (after.disk_read - before.disk_read) / seconds,
            "disk_written_bytes_per_s": (after.disk_written - before.disk_written) / seconds,
            "network_received_bytes_per_s": (after.received - before.received) / seconds,
            "network_sent_bytes_per_s": (after.sent - before.sent) / seconds,
        }
        for rank, use in self._ranks.look(os.getpid(), self._spared()).items():
            seen[f"rank-{rank}/cpu_percent"] = 100 * use.cpu_s / seconds  # of one core: 400 are four cores
            seen[f"rank-{rank}/memory_bytes"] = use.memory
        for gpu in gpus.look():
            seen[f"{gpu.name}/utilization_percent"] = gpu.utilization
            seen[f"{gpu.name}/memory_bytes"] = gpu.memory
            seen[f"{gpu.name}/power_w"] = gpu.power_w
            seen[f"{gpu.name}/temperature_c"] = gpu.temperature_c
        for name, value in seen.items():
            if value is not None:
                writer.number(f"{self._node}/{name}", round(float(value), 2))
