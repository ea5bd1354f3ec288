"""Attempts in environments that the agent builds itself, and in containers."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from yard import DRIVER, Yard

from trainyard.contract.runs import EnvironmentSpec

PREPARED = "azureml-logs/65_job_prep-node-0.txt"


def wheel(folder: Path) -> Path:
    folder.mkdir()
    with zipfile.ZipFile(folder / "apple-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("apple.py", "colour = 'red'\n")
        archive.writestr("apple-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: apple\nVersion: 1.0\n")
        archive.writestr("apple-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("apple-1.0.dist-info/RECORD", "")
    return folder


def packages(*lines: str) -> EnvironmentSpec:
    return EnvironmentSpec(
        "fruit", definition={"python": {"condaDependencies": {"dependencies": [{"pip": list(lines)}]}}}
    )


def test_an_environment_that_is_not_on_the_node_is_built_there_once(apart: Yard, tmp_path: Path) -> None:
    spec = packages("--no-index", f"--find-links {wheel(tmp_path / 'wheels')}", "apple", "azureml-defaults")
    code = "import apple, azureml.core; print(apple.colour)"
    first = apart.run(code, environment=spec)
    assert first.log(DRIVER) == b"red\n", first.log(PREPARED)
    assert b"Environment fruit is not on this node: building it.\n" in first.log(PREPARED)
    assert b" + apple==1.0\n" in first.log(PREPARED)
    second = apart.run(code, environment=spec)
    assert second.log(DRIVER) == b"red\n"
    assert b" + apple==1.0\n" not in second.log(PREPARED)


def test_an_environment_that_cannot_be_built_is_the_runs_end(apart: Yard) -> None:
    heard = apart.run("print('never')", environment=packages("--no-index", "nosuchfruit"))
    error = heard.ended[0].error
    assert error is not None
    assert "nosuchfruit was not found" in error.message
    assert heard.log(DRIVER) == b""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called docker that writes down what it is asked, and runs what follows the image's name by itself."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "docker"
    program.write_text(f"""#!/bin/sh
printf '%s\\n' "$*" >> {tmp_path}/asked
if [ "$1" = run ]; then
    while [ "$1" != fruit:1 ]; do shift; done
    shift
    exec "$@"
fi
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return tmp_path / "asked"


def test_a_job_in_a_container(yard: Yard, engine: Path) -> None:
    definition = {"docker": {"enabled": True, "baseImage": "fruit:1"}}
    spec = EnvironmentSpec("own", user_managed=True, interpreter=sys.executable, definition=definition)
    heard = yard.run("import os; print(os.environ['AZUREML_RUN_ID'])", environment=spec)
    assert heard.log(DRIVER) == b"first_1_abcd1234\n", heard.log(PREPARED)
    info, run, *removed = engine.read_text().splitlines()
    name = f"trainyard-{yard.handles[0]}-0-0"
    assert info == "info"
    assert f"--name {name} " in run
    assert f" --volume {yard.root / 'home'}:{yard.root / 'home'}:ro " in run
    assert f" --volume {yard.root / 'work' / yard.handles[0]}:" in run
    assert " --env AZUREML_RUN_TOKEN " in run
    assert removed == [f"rm --force {name}"]


def test_without_an_engine_it_runs_without_a_container_and_says_so(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/programs")
    definition = {"docker": {"enabled": True, "baseImage": "fruit:1"}}
    spec = EnvironmentSpec("own", user_managed=True, interpreter=sys.executable, definition=definition)
    heard = yard.run("print('here')", environment=spec)
    assert heard.log(DRIVER) == b"here\n"
    assert heard.log(PREPARED).count(b"No Docker or Podman engine answers") == 1
