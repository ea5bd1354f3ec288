"""conda packages, from a channel made by hand."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from goods import broken_source, conda_package, definition, wheel

from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.build import build
from trainyard.environments.conda import address, to_pypi
from trainyard.environments.horovod import NEEDS
from trainyard.environments.locks import Lock
from trainyard.environments.plan import Planner
from trainyard.environments.request import Request
from trainyard.environments.store import Built

BASE = os.path.realpath(sys.executable)
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


@pytest.fixture
def with_pip(tmp_path: Path, planner: Planner, wheels: Path) -> Callable[..., Request]:
    """with_pip(*requirements): beside an apple 1.0 and a Python that pip's packages can be installed for."""
    channel = tmp_path / "channel"
    python = f'#!/bin/bash\nexec -a "$0" {BASE} "$@"\n'  # a virtual environment, as it believes
    settings = f"home = {Path(BASE).parent}\nversion = 3.11\n"
    conda_package(channel, "python", "3.11.4", {"bin/python": python, "pyvenv.cfg": settings})
    about = "site-packages/apple-1.0.dist-info/"
    files = {"METADATA": "Metadata-Version: 2.1\nName: apple\nVersion: 1.0\n", "INSTALLER": "conda", "RECORD": ""}
    module = {"site-packages/apple.py": "__version__ = '1.0 of conda'\n"}
    dist_info = {about + name: text for name, text in files.items()}
    conda_package(channel, "apple", "1.0", module | dist_info, ["python >=3.11"], noarch="python")

    def request(*requirements: str, **python: object) -> Request:
        lines = ["--no-index", f"--find-links {wheels}", *requirements]
        said = definition(lines, ["python=3.11", "apple"], [f"file://{channel}"], **python)
        made = planner.plan(EnvironmentSpec("mine", definition=said))
        assert made is not None
        return made

    return request


def versions(built: Built, *modules: str) -> str:
    code = "; ".join(f"import {name}; print({name}.__version__)" for name in modules)
    return subprocess.run([built.interpreter, "-I", "-c", code], capture_output=True, text=True, check=True).stdout


def test_what_conda_brought_stays_beneath_pips_packages(
    with_pip: Callable[..., Request], built: Callable[[Request], Built]
) -> None:
    made = built(with_pip("pear"))  # which goes with apple 1.4 too
    assert versions(made, "apple", "pear") == "1.0 of conda\n1.0\n"
    assert "pear==1.0" in made.lock


def test_pips_packages_go_over_condas_where_they_must(
    with_pip: Callable[..., Request], built: Callable[[Request], Built]
) -> None:
    made = built(with_pip("apple>=1.2"))
    assert (versions(made, "apple"), made.notes) == ("2.0\n", ())


def test_sources_that_do_not_build_beside_conda_give_way_as_elsewhere(
    with_pip: Callable[..., Request],
    built: Callable[[Request], Built],
    refused: Callable[[Request], str],
    wheels: Path,
) -> None:
    broken_source(wheels, "cherry", "1.0")
    wheel(wheels, "cherry", "1.1")
    said = refused(with_pip("cherry==1.0"))
    assert said.startswith("Not available for Python 3.11.4: cherry==1.0 (the nearest there is: cherry==1.1).")
    assert said.endswith("The solver said: Failed to build `cherry==1.0`: this compiler does not exist")
    made = built(with_pip("cherry==1.0", relaxPins=True))
    assert versions(made, "cherry", "apple") == "1.1\n1.0 of conda\n"
    assert made.notes == ("cherry==1.0 cannot be had for Python 3.11.4: cherry==1.1 was installed instead.",)


def test_horovod_beside_conda_is_built_and_not_looked_for(
    with_pip: Callable[..., Request], planner: Planner, wheels: Path, tmp_path: Path
) -> None:
    for need in NEEDS:
        name, _, version = need.partition("==")
        wheel(wheels, name, version or "1.0")
    without_compiler = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    request = with_pip("horovod")
    assert build(planner.store, request, without_compiler) == 1
    failure = planner.store.failure(request.key)
    assert failure is not None
    assert failure.error.message.startswith("Horovod has to be built here, and gcc, g++, make is missing.")


def test_a_channels_token_is_handed_on_and_seen_nowhere(
    planner: Planner,
    channel: Path,
    built: Callable[[Request], Built],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    token = "tk-0123456789"
    (tmp_path / "site" / "t").mkdir(parents=True)
    (tmp_path / "site" / "t" / token).symlink_to(tmp_path)
    with serving(tmp_path / "site") as url:
        said = definition([], ["python=3.11", "seed"], [f"{url}/t/{token}/channel", "file:///no/such"])
        request = planner.plan(EnvironmentSpec("private", definition=said))
        assert request is not None
        made = built(request)
    log = capfd.readouterr().out
    assert f"conda channels: {url}/t/****/channel; not reached: file:///no/such." in log
    assert f"# conda {url}/t/****/channel/noarch/seed-0.1-0.tar.bz2" in made.lock
    kept = planner.store.state(request.key, "log"), str(Path(planner.store.folder(made.key)) / "trainyard.json")
    assert token not in log + "".join(Path(path).read_text() for path in kept if Path(path).exists())


def test_with_the_switch_the_package_in_the_way_is_named(
    planner: Planner, channel: Path, refused: Callable[[Request], str]
) -> None:
    said = refused(plan(planner, channel, "seed=9", "nosuchfruit", relaxPins=True))
    assert "No candidates were found for nosuchfruit" in said


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


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
