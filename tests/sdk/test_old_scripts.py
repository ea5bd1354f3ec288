"""Helpers for old scripts in real jobs: switched on by the environment or by relaxed pins, and by nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

SCRIPT = "import numpy as np\nprint('float is', np.float(2))\n"


@pytest.fixture(scope="module")
def workspace(home: object) -> Workspace:
    return Workspace.create("yard", exist_ok=True, show_output=False)


def environment(shims: object) -> Environment:
    made = Environment("mine")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = sys.executable
    made.python.shims = shims
    return made


@pytest.mark.parametrize(
    ("relaxed", "shims", "ends"),
    [
        ("1", None, "Completed"),
        ("0", "auto", "Completed"),
        ("0", ["numpy", "torch"], "Completed"),
        ("0", None, "Failed"),
        ("1", "off", "Failed"),
    ],
)
def test_an_old_script(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relaxed: str, shims: object, ends: str
) -> None:
    monkeypatch.setenv("TRAINYARD_RELAX_PINS", relaxed)
    (tmp_path / "train.py").write_text(SCRIPT)
    config = ScriptRunConfig(str(tmp_path), "train.py", environment=environment(shims))
    run = Experiment(workspace, "old").submit(config)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == ends
    run.download_file("azureml-logs/70_driver_log.txt", str(tmp_path / "log.txt"))
    log = (tmp_path / "log.txt").read_text()
    assert ("float is 2.0" in log) == (ends == "Completed")
    assert ("trainyard: numpy: np.float is gone" in log) == (ends == "Completed")


@pytest.mark.parametrize("wrong", ["no-such-helper", [], ["numpy", "auto"], 3])
def test_what_names_no_helper(wrong: object) -> None:
    with pytest.raises(UserErrorException, match=r"Give 'auto' for all that a script needs|must be"):
        environment(wrong)


def test_what_was_said_travels() -> None:
    assert environment(True).python.to_definition()["shims"] == "auto"
    assert environment(["torch", "numpy"]).python.to_definition()["shims"] == "torch,numpy"
    assert "shims" not in environment(None).python.to_definition()
