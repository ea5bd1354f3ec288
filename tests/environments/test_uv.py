"""What uv's words become, by a program that stands in for it."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainyard.contract.errors import DiskFull, EnvironmentRefused, IndexAway, Unsatisfied
from trainyard.environments.options import PipOptions
from trainyard.environments.uv import Uv, find_program

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
        "Failed to fetch: `https://****@host/simple/`: operation timed out. Check that the package index can be "
        "reached from the service's machine, then submit again."
    )


def test_warnings_are_not_the_error(uv: Stand) -> None:
    said = "warning: old\\nerror: No solution found when resolving dependencies:\\n  cause: Because a."
    with pytest.raises(Unsatisfied) as unsatisfied:
        uv(f"printf '{said}' >&2; exit 1").freeze("python")
    assert unsatisfied.value.message == "Because a."


@pytest.mark.parametrize(
    ("tags", "end"),
    [
        (
            "`cp27m`, `cp36m`",
            "`cp36m`. cntk was last built for Python 3.6 and is not kept up any more: use another package",
        ),
        ("`cp36m`, `cp39`", "`cp39`"),
        ("`cp36m`, `abi3`", "`abi3`"),
    ],
)
def test_what_was_given_up_long_ago_is_called_that(uv: Stand, tags: str, end: str) -> None:
    found = f"we only found wheels for `cntk` (v2.6) with the following Python ABI tags: {tags}"
    hint = f"hint: You require CPython 3.11 (`cp311`), but {found}"
    with pytest.raises(Unsatisfied) as unsatisfied:
        uv(f"cat >&2 <<'EOF'\nerror: Because a.\n\n{hint}\nEOF\nexit 1").freeze("python")
    assert unsatisfied.value.message.removesuffix(" in its place.").endswith(end)


def test_a_program_that_does_not_end_is_ended(uv: Stand) -> None:
    with pytest.raises(IndexAway, match="TRAINYARD_BUILD_DEADLINE"):
        uv("sleep 60", until=0.0).freeze("python")


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """bare_machine(script): no uv, and an interpreter whose pip is that script ($6: its target)."""

    def without_uv(script: str) -> Path:
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{script}\n')
        python.chmod(0o755)
        monkeypatch.setitem(sys.modules, "uv", None)
        monkeypatch.setattr(shutil, "which", lambda name: None)
        monkeypatch.setattr(sys, "executable", str(python))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return tmp_path / "asked"

    find_program.cache_clear()
    yield without_uv
    find_program.cache_clear()


def test_a_machine_without_uv_fetches_it_once(bare_machine: Callable[[str], Path], tmp_path: Path) -> None:
    asked = bare_machine('shift 5; mkdir -p "$1/bin"; echo fetched > "$1/bin/uv"')
    program = Path(find_program())
    assert (program, program.read_text()) == (tmp_path / "cache" / "trainyard" / "uv" / "bin" / "uv", "fetched\n")
    find_program.cache_clear()
    assert Path(find_program()) == program
    (line,) = asked.read_text().splitlines()
    assert line.startswith("-m pip install --quiet --target")
    assert line.endswith(" uv")
    assert [it.name for it in (tmp_path / "cache" / "trainyard").iterdir()] == ["uv"]


def test_a_machine_that_cannot_fetch_uv_says_which_and_what_to_do(bare_machine: Callable[[str], Path]) -> None:
    bare_machine("echo 'No module named pip' >&2; exit 1")
    with pytest.raises(EnvironmentRefused) as refused:
        find_program()
    assert refused.value.message == (
        f"The program uv is missing on {platform.node()}, and it could not be fetched: No module named pip. Install it "
        "there (pip install uv), then submit again."
    )
