"""conda packages, from a channel made by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from goods import conda_package, definition

from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.conda import address, to_pypi
from trainyard.environments.locks import Lock
from trainyard.environments.plan import Planner
from trainyard.environments.request import Request
from trainyard.environments.store import Built

# Our own Python under another name: what the channel's packages brought is first on its path.
PYTHON = f"""\
#!/bin/sh
export PYTHONPATH=$(dirname $(dirname $0))/lib/python3.11/site-packages
exec {sys.executable} -S "$@"
"""


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    channel = tmp_path / "channel"
    conda_package(channel, "python", "3.11.4", {"bin/python": PYTHON})
    conda_package(channel, "python", "3.8.2", {"bin/python": PYTHON})
    fruit = {"site-packages/fruit.py": "name = 'apple'\n"}
    conda_package(channel, "fruit", "1.2", fruit, ["python >=3.11", "seed"], noarch="python")
    conda_package(channel, "fruit", "2.0", fruit, ["python >=3.20"], noarch="python")
    conda_package(channel, "seed", "0.1", {"share/seed.txt": "seed"}, noarch="generic")
    return channel


def plan(planner: Planner, channel: Path, *packages: str, **python: object) -> Request:
    spec = EnvironmentSpec("mine", definition=definition([], packages, [f"file://{channel}"], **python))
    request = planner.plan(spec)
    assert request is not None
    return request


def test_packages_and_what_they_need_come_from_the_channel(
    planner: Planner, channel: Path, built: Callable[[Request], Built]
) -> None:
    made = built(plan(planner, channel, "python=3.6.2", "fruit"))
    lock = Lock.parse(made.lock)
    assert (made.python, lock.python) == ("3.11.4", "3.11.4")
    assert sorted(url.rpartition("/")[2] for url, _ in lock.conda) == [
        *("fruit-1.2-0.tar.bz2", "python-3.11.4-0.tar.bz2", "seed-0.1-0.tar.bz2"),
    ]
    assert all(len(digest) == 64 for _, digest in lock.conda)
    folder = Path(planner.store.folder(made.key))
    assert (folder / "share" / "seed.txt").read_text() == "seed"
    said = subprocess.run([made.interpreter, "-c", "import fruit; print(fruit.name)"], capture_output=True, text=True)
    assert said.stdout == "apple\n", said.stderr
    assert made.variables == {"CONDA_PREFIX": str(folder)}


def test_a_python_that_is_not_installed_comes_from_the_channel(
    planner: Planner, channel: Path, built: Callable[[Request], Built]
) -> None:
    request = replace(plan(planner, channel, "python=3.8.2", "seed"), interpreter=None)
    assert built(request).python == "3.8.2"


def test_it_is_repeated_from_its_lock(planner: Planner, channel: Path, built: Callable[[Request], Built]) -> None:
    first = built(plan(planner, channel, "fruit"))
    conda_package(channel, "seed", "0.2", {"share/seed.txt": "better"}, noarch="generic")
    spec = EnvironmentSpec("again", definition=definition(lock="ab" * 32))
    request = planner.plan(spec, read_lock=lambda _: first.lock.encode())
    assert request is not None
    again = built(request)
    assert again.lock == first.lock
    assert (Path(planner.store.folder(again.key)) / "share" / "seed.txt").read_text() == "seed"


def test_the_solvers_sentence_reaches_the_user(
    planner: Planner, channel: Path, refused: Callable[[Request], str]
) -> None:
    said = refused(plan(planner, channel, "fruit=2.0"))
    assert said.startswith("conda's solver: ")
    assert "fruit" in said
    assert "python" in said


def test_with_the_switch_other_versions_are_taken_and_said(
    planner: Planner, channel: Path, built: Callable[[Request], Built]
) -> None:
    made = built(plan(planner, channel, "fruit=2.0", relaxPins=True))
    assert made.notes == ("fruit=2.0 cannot be had together from the channels: the nearest were installed.",)


@pytest.mark.parametrize(
    ("entry", "requirement"),
    [
        ("pytorch", "torch"),
        ("numpy=1.18", "numpy==1.18.*"),
        ("numpy=1.18.1=py36_0", "numpy==1.18.1.*"),
        ("numpy==1.18.1", "numpy==1.18.1"),
        ("conda-forge::scikit-learn>=0.20,<1", "scikit-learn>=0.20,<1"),
        ("numpy 1.18.*", "numpy==1.18.*"),
    ],
)
def test_the_same_on_pypi(entry: str, requirement: str) -> None:
    assert to_pypi([entry]) == ([requirement], [])


def test_what_pypi_carries_inside_and_what_it_does_not_have() -> None:
    assert to_pypi(["cudatoolkit=10.0", "ffmpeg", "six"]) == (["six"], ["ffmpeg"])


def test_channels_have_addresses() -> None:
    assert address("conda-forge") == "https://conda.anaconda.org/conda-forge"
    assert address("defaults") == "https://repo.anaconda.com/pkgs/main"
    assert address("https://host/c/") == "https://host/c"
    assert address("/a/channel") == "file:///a/channel"
