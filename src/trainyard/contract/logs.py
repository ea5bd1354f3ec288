"""Azure's names for the logs of a run, and the rule for which of them people want to read."""

from __future__ import annotations

import re
from collections.abc import Iterable

PREFIX = "azureml-logs/"
IMAGE_BUILD = PREFIX + "20_image_build_log.txt"
DRIVER = PREFIX + "70_driver_log.txt"
MPI = PREFIX + "70_mpi_log.txt"

_STREAMED = re.compile(r"azureml-logs/\d\d.*\.txt|user_logs/std_log.*\.txt")
_RANK = re.compile(r"_(?:rank_|worker_)?(\d+)\.txt$")


def execution(node: str) -> str:
    return f"{PREFIX}55_azureml-execution-{node}.txt"


def job_prep(node: str) -> str:
    return f"{PREFIX}65_job_prep-{node}.txt"


def job_post(node: str) -> str:
    return f"{PREFIX}75_job_post-{node}.txt"


def torchrun(node: int) -> str:
    return f"{PREFIX}70_torchrun_log_{node}.txt"


def driver(rank: int, processes: int) -> str:
    """One log for a single process, one per process otherwise."""
    return DRIVER if processes == 1 else of_rank(rank)


def of_rank(rank: int) -> str:
    return f"{PREFIX}70_driver_log_{rank}.txt"


def chosen(names: Iterable[str], rank: int, processes: int) -> str:
    """The log of one rank, among those that are there; before it is there, by how many processes there will be."""
    known = set(names)
    if of_rank(rank) in known or (rank == 0 and DRIVER in known):
        return of_rank(rank) if of_rank(rank) in known else DRIVER
    return driver(rank, max(processes, rank + 1))


def streamed(names: Iterable[str]) -> str | None:
    """The log that show_output streams: of the highest number that matches, rank 0's."""
    matching = [name for name in names if _STREAMED.fullmatch(name)]
    if not matching:
        return None
    last = max(name[:2] if name.startswith("user") else name[len(PREFIX) : len(PREFIX) + 2] for name in matching)
    group = [name for name in matching if name.startswith((PREFIX + last, last))]
    return min(group, key=lambda name: (_rank(name), name))


def _rank(name: str) -> int:
    found = _RANK.search(name)
    return int(found[1]) if found else 0
