"""A program that a builder started ends with all that it started itself."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trainyard.environments.programs import read_both, started

FAMILY = "sleep 600 & echo $! >&2; echo out; wait"


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("error", [SystemExit(143), KeyboardInterrupt()])
def test_what_it_started_ends_with_a_builder_that_is_told_to_end(error: BaseException) -> None:
    said: list[str] = []

    def hear(line: str) -> None:
        said.append(line)
        raise error

    with pytest.raises(type(error)), started(["/bin/sh", "-c", FAMILY], os.environ) as process:
        read_both(process, float("inf"), hear)
    child = int(said[0])
    until = time.monotonic() + 10
    while not gone(child) and time.monotonic() < until:
        os.sched_yield()
    assert gone(child)


def test_both_of_its_outputs_are_heard_where_it_runs(tmp_path: Path) -> None:
    said: list[str] = []
    with started(["/bin/sh", "-c", "pwd; printf 'one\\ntwo' >&2"], os.environ, str(tmp_path)) as process:
        assert read_both(process, float("inf"), said.append) == f"{tmp_path}\n"
    assert said == ["one", "two"]
    with pytest.raises(TimeoutError), started(["/bin/sh", "-c", "sleep 600"], os.environ) as process:
        read_both(process, 0.0, said.append)
