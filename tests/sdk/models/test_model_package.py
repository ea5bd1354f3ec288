"""A package is a service that stands on its own: it is run here without a container, by its own runtime alone."""

import json
import os
import subprocess
import sys
import time
import urllib.request

import pytest

from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import WebserviceException
from trainyard.sdk.models.model import Model
from trainyard.sdk.models.model_package import conda_file
from trainyard.sdk.services.inference_config import InferenceConfig
from trainyard.sdk.workspace import Workspace

SCORE = """\
from azureml.core.model import Model
def init():
    global weight
    with open(Model.get_model_path("weights")) as file:
        weight = int(file.read())
def run(data):
    return weight * 2
"""


@pytest.fixture
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


def test_a_saved_package_answers_by_itself(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "score.py").write_text(SCORE)
    (tmp_path / "weights.txt").write_text("21")
    environment = Environment("mine")
    environment.python.conda_dependencies.add_pip_package("six==1.16.0")
    model = Model.register(workspace, "weights.txt", "weights")
    config = InferenceConfig("score.py", environment=environment)
    package = Model.package(workspace, [model], config, generate_dockerfile=True, image_name="Mine", image_label="3")
    package.wait_for_creation()
    with pytest.raises(WebserviceException, match="docker build"):
        package.pull()
    package.save("out")
    with pytest.raises(WebserviceException, match="is not empty"):
        package.save("out")
    dockerfile = (tmp_path / "out" / "Dockerfile").read_text()
    assert "docker build -t mine:3 ." in dockerfile
    assert "six==1.16.0" in (tmp_path / "out" / "conda_dependencies.yml").read_text()
    assert json.loads(answer_of(tmp_path / "out", tmp_path / "run")) == 42


def answer_of(package, folder):
    """The package's front, with the paths of the container replaced by those of here."""
    folder.mkdir()
    text = (package / "plan.json").read_text()
    plan = json.loads(text.replace("/var/azureml-app", str(package / "app")))
    plan |= {"host": "127.0.0.1", "port": 0}
    plan["scorers"][0]["interpreter"] = sys.executable
    (folder / "plan.json").write_text(json.dumps(plan))
    variables = {**os.environ, "PYTHONPATH": str(package / "runtime"), "TRAINYARD_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "trainyard.serving.front", str(folder)]
    with subprocess.Popen(command, env=variables, cwd=folder) as front:
        try:
            return urllib.request.urlopen(f"{healthy_at(folder)}/score", b"{}", timeout=30).read()
        finally:
            front.terminate()


def healthy_at(folder):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (folder / "status.json").exists():
            said = json.loads((folder / "status.json").read_text())
            assert said["state"] != "Failed", said
            if said["state"] == "Healthy":
                return said["url"]
        time.sleep(0.05)
    raise AssertionError((folder / "service.log").read_text())


def test_azure_s_own_packages_are_left_out_of_the_conda_file():
    definition = {
        "python": {
            "condaDependencies": {
                "channels": ["conda-forge"],
                "dependencies": ["python=3.8", "numpy=1.26", {"pip": ["azureml-defaults", "six"]}],
            }
        }
    }
    assert conda_file(definition) == (
        'name: scoring\nchannels:\n- conda-forge\ndependencies:\n- python=3.8\n- numpy=1.26\n- pip\n- pip:\n  - "six"\n'
    )


@pytest.mark.parametrize(
    ("entries", "python"),
    [
        (["python=3.6.2"], "python=3.11"),  # what CondaDependencies fills in
        (["python==3.7"], "python=3.11"),
        (["python=3.10"], "python=3.10"),
        (["python>=3.9"], "python>=3.9"),
        (["numpy"], "python=3.11"),
    ],
)
def test_the_python_of_a_package_is_one_that_its_runtime_starts_on(entries, python):
    definition = {"python": {"condaDependencies": {"dependencies": entries}}}
    assert [line for line in conda_file(definition).splitlines() if "python" in line] == [f"- {python}"]
