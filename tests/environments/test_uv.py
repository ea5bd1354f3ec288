"""What uv's words become, by a program that stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trainyard.contract.errors import DiskFull, IndexAway, Unsatisfied
from trainyard.environments.options import PipOptions
from trainyard.environments.uv import Uv

Stand = Callable[[str], Uv]


@pytest.fixture
def uv(tmp_path: Path) -> Stand:
    """uv(script) → our adapter, with a shell script in the place of uv."""

    def stand_in(script: str, **more: float) -> Uv:
        program = tmp_path / "uv"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return Uv(str(program), PipOptions(), {"PATH": "/usr/bin:/bin"}, log=lambda _: None, **more)  # type: ignore[arg-type]

    return stand_in


def test_a_full_disk_is_said(uv: Stand) -> None:
    with pytest.raises(DiskFull):
        uv("echo 'error: failed to write: No space left on device (os error 28)' >&2; exit 2").freeze("python")


def test_an_index_that_is_away_is_said_with_the_way_out(uv: Stand) -> None:
    said = "error: Failed to fetch: `https://ada:hush@host/simple/`\\n  cause: operation timed out"
    with pytest.raises(IndexAway) as away:
        uv(f"printf '{said}' >&2; exit 2").freeze("python")
    assert away.value.message == (
        "Failed to fetch: `https://****@host/simple/` operation timed out Check that the package index can be reached "
        "from the service's machine, then submit again."
    )


def test_warnings_are_not_the_error(uv: Stand) -> None:
    said = "warning: old\\nerror: No solution found when resolving dependencies:\\n  cause: Because a."
    with pytest.raises(Unsatisfied) as unsatisfied:
        uv(f"printf '{said}' >&2; exit 1").freeze("python")
    assert unsatisfied.value.message == "Because a."


def test_a_program_that_does_not_end_is_ended(uv: Stand) -> None:
    with pytest.raises(IndexAway, match="TRAINYARD_BUILD_DEADLINE"):
        uv("sleep 60", until=0.0).freeze("python")
