"""The key vault against the real service: set from outside, asked for inside a run, encrypted on the disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

SCRIPT = """\
from azureml.core import Run
run = Run.get_context()
secret = run.get_secret('the-word')
run.log('length', len(secret))
try:
    run.experiment.workspace.get_default_keyvault().set_secret('the-word', 'other')
except Exception as error:
    run.log('refused', str(error))
try:
    run.get_secret('no-such')
except Exception as error:
    run.log('missing', str(error))
"""


@pytest.fixture(scope="module")
def workspace(home: object) -> Workspace:
    return Workspace.create("yard", exist_ok=True, show_output=False)


def test_from_the_vault_into_a_run(workspace: Workspace, tmp_path: Path) -> None:
    vault = workspace.get_default_keyvault()
    vault.set_secrets({"the-word": "open-sesame-7", "other-word": "x"})
    vault.set_secret("other-word", "y")
    assert vault.get_secrets(["other-word", "no-such"]) == {"other-word": "y", "no-such": None}
    assert vault.list_secrets() == [{"name": "other-word"}, {"name": "the-word"}]

    (tmp_path / "train.py").write_text(SCRIPT)
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    run = Experiment(workspace, "vault").submit(ScriptRunConfig(str(tmp_path), "train.py", environment=environment))
    run.wait_for_completion()
    metrics = run.get_metrics()
    assert metrics["length"] == len("open-sesame-7")
    assert "may not set secrets" in metrics["refused"]
    assert "has no no-such" in metrics["missing"]

    vault.delete_secrets(["the-word", "other-word"])
    assert vault.get_secret("the-word") is None
    assert [name for name in files_below(os.environ["TRAINYARD_HOME"]) if holds(name, b"open-sesame-7")] == []


def files_below(home: str) -> list[str]:
    return [os.path.join(at, name) for at, _, names in os.walk(home) for name in names]


def holds(name: str, word: bytes) -> bool:
    """One that went meanwhile, as a run's working folder does, holds nothing."""
    try:
        return os.path.isfile(name) and word in Path(name).read_bytes()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("name", "value"), [("with space", "x"), ("", "x"), ("empty", ""), ("long", "x" * 25_001)])
def test_what_is_no_secret(workspace: Workspace, name: str, value: str) -> None:
    vault = workspace.get_default_keyvault()
    with pytest.raises(UserErrorException):
        vault.set_secrets({"fine": "x", name: value})
    assert vault.get_secret("fine") is None


def test_what_is_azures_says_what_to_do(workspace: Workspace) -> None:
    workspace.sync_keys()
    assert workspace.list_connections() == []
    with pytest.raises(UserErrorException, match="get_default_keyvault"):
        workspace.list_keys()
    with pytest.raises(UserErrorException, match="trainyard doctor"):
        workspace.diagnose_workspace({})
    with pytest.raises(UserErrorException, match="There is no secret 'nothing'"):
        workspace.get_default_keyvault().delete_secret("nothing")
