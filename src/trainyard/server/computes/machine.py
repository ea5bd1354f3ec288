"""What this machine has."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    cores: int
    memory_gb: float
    gpus: tuple[str, ...] = ()  # ids as CUDA_VISIBLE_DEVICES takes them

    @property
    def local_nodes(self) -> int:
        """How many nodes of runs on the target `local` may be up at once."""
        return max(8, 2 * self.cores)


@functools.cache
def this_machine() -> Machine:
    """Looked at once in the life of a process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(cores, round(memory / (1 << 30), 1), _gpus())


def _gpus() -> tuple[str, ...]:
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()  # no driver, or one that hangs: as good as no GPU
    if done.returncode != 0:
        return ()
    return tuple(line.strip() for line in done.stdout.splitlines() if line.strip().isdigit())
