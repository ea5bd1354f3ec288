"""Which interpreter a wish gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainyard.contract.errors import EnvironmentRefused
from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.plan import Planner
from trainyard.environments.pythons import Choice, choose, installed, ours
from trainyard.environments.request import Interpreter
from trainyard.environments.specification import Wanted

OURS = Interpreter("/ours", "3.11.7")
HERE = [OURS, Interpreter("/new", "3.13.0"), Interpreter("/eight", "3.8.18"), Interpreter("/six", "3.6.15")]


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        (Wanted(), "/ours"),
        (Wanted(python="==3.6.2.*", python_filled_in=True), "/ours"),
        (Wanted(python="==3.11.*"), "/ours"),
        (Wanted(python=">=3.12"), "/new"),
        (Wanted(python="==3.8.*"), "/eight"),
        (Wanted(python="==3.8.5"), "/eight"),  # another patch release is the same Python
        (Wanted(python="==3.9.*", relax=True), "/ours"),
        (Wanted(python="==3.8.*", relax=True), "/ours"),  # a script may import azureml, which 3.8 cannot
        (Wanted(python="==3.8.5", relax=True), "/ours"),
        (Wanted(python="==3.13.*", relax=True), "/new"),
    ],
)
def test_the_choice(wanted: Wanted, path: str) -> None:
    choice = choose(wanted, HERE)
    assert choice is not None
    assert choice.interpreter.path == path


def test_what_was_not_as_asked_is_said() -> None:
    filled = "python==3.6.2.* is the SDK's default and not a pin: Python 3.11.7 is taken."
    assert choose(Wanted(python="==3.11.*"), HERE) == Choice(OURS)
    assert choose(Wanted(python="==3.6.2.*", python_filled_in=True), HERE) == Choice(OURS, log=(filled,))
    patch = "python==3.11.2 is not installed here; Python 3.11.7 was taken."
    assert choose(Wanted(python="==3.11.2"), HERE) == Choice(OURS, notes=(patch,))
    newer = "python==3.8.* is too old for `import azureml`, which needs 3.11; Python 3.11.7 was taken."
    assert choose(Wanted(python="==3.8.*", relax=True), HERE) == Choice(OURS, notes=(newer,))
    old = choose(Wanted(python="==3.8.*"), HERE)
    assert old is not None
    assert "`import azureml` inside it needs Python 3.11 or later" in old.notes[0]


def test_a_python_that_is_not_there_is_nobodys(tmp_path: Path) -> None:
    assert choose(Wanted(python="==3.4.*"), HERE) is None
    spec = EnvironmentSpec(definition={"python": {"condaDependencies": {"dependencies": ["python=3.4"]}}})
    with pytest.raises(EnvironmentRefused) as refused:
        Planner(str(tmp_path), os.environ).plan(spec)
    assert "No Python that is ==3.4.*" in refused.value.message
    assert ours().version in refused.value.message


def test_interpreters_are_found_and_remembered(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3.99").symlink_to(ours().path)  # the same as ours: not found twice
    (programs / "python3.98").write_text("#!/bin/sh\nexec python3.98\n")  # a stand-in for what may not be there
    (programs / "python3.98").chmod(0o755)
    memory = tmp_path / "memory.json"
    found = installed({"PATH": str(programs)}, str(memory))
    assert found[0] == ours()
    assert not [it for it in found if it.path.startswith(str(programs))]
    assert installed({"PATH": str(programs)}, str(memory)) == found
    memory.write_text("not JSON")
    assert installed({"PATH": str(programs)}, str(memory)) == found
