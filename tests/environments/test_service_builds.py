"""From submit to the script's own import, through the whole service."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from goods import wheel

from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from trainyard.client.environments import Environments
from trainyard.client.http import Http


@pytest.fixture
def workspace(home: object) -> Workspace:
    return Workspace.create(name="yard", exist_ok=True)


def submit(workspace: Workspace, tmp_path: Path, code: str, *packages: str) -> Run:
    (tmp_path / "job").mkdir(exist_ok=True)
    (tmp_path / "job" / "train.py").write_text(code)
    environment = Environment("fruit")
    environment.python.conda_dependencies = CondaDependencies.create(pip_packages=list(packages))
    environment.python.conda_dependencies.set_pip_option("--no-index")
    environment.python.conda_dependencies.set_pip_option(f"--find-links {tmp_path / 'wheels'}")
    config = ScriptRunConfig(str(tmp_path / "job"), "train.py", environment=environment)
    return Experiment(workspace, "first").submit(config)


def test_a_script_finds_its_packages_and_the_build_is_in_its_log(workspace: Workspace, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "apple", "1.0")
    code = (
        "import apple, sys\nfrom azureml.core import Run\nRun.get_context().log('major', int(apple.__version__[0]))\n"
    )
    run = submit(workspace, tmp_path, code, "apple", "azureml-defaults")
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    assert run.get_metrics() == {"major": 1}
    names = run.get_file_names()
    assert "azureml-logs/20_image_build_log.txt" in names
    assert "azureml-setup/environment.lock" in names
    run.download_file("azureml-setup/environment.lock", str(tmp_path / "lock"))
    lock = (tmp_path / "lock").read_text()
    assert f"# python {'.'.join(map(str, sys.version_info[:3]))}\n" in lock
    assert "apple==1.0 \\\n    --hash=sha256:" in lock

    again = submit(workspace, tmp_path, code, "azureml-defaults", "apple")
    again.wait_for_completion()
    assert again.get_status() == "Completed"
    assert "azureml-logs/20_image_build_log.txt" not in again.get_file_names()


def test_a_package_that_does_not_exist_fails_the_run_with_the_solvers_sentence(
    workspace: Workspace, tmp_path: Path
) -> None:
    wheel(tmp_path / "wheels", "apple", "1.0")
    run = submit(workspace, tmp_path, "print('never')\n", "nosuchfruit")
    with pytest.raises(Exception, match="nosuchfruit was not found"):
        run.wait_for_completion(raise_on_error=True)
    assert run.get_status() == "Failed"


def test_an_environment_is_built_without_a_run(workspace: Workspace, home: object, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "apple", "1.0")
    pip = ["--no-index", f"--find-links {tmp_path / 'wheels'}", "apple"]
    definition = {"name": "fruit", "python": {"condaDependencies": {"dependencies": [{"pip": pip}]}}}
    environments = Environments(Http(None, None, home), workspace._record.id)  # type: ignore[arg-type]
    asked = environments.build(definition)
    ended = environments.build_status(asked.build_id, timeout_s=20)
    assert (ended.state, ended.reason) == ("Succeeded", "Built")
    assert b" + apple==1.0" in environments.build_log(asked.build_id)
