"""Mounted data in runs: the data itself, which the script may read and not write."""

from __future__ import annotations

import json
import os

import pytest

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.data import OutputFileDatasetConfig
from azureml.exceptions import ActivityFailedException
from trainyard.agent import readonly

WRITES = """
import json, os, sys
said = []
for path in sys.argv[1:]:
    try:
        with open(path if os.path.isfile(path) else path + "/new", "a") as file:
            file.write("!")
        said.append("wrote")
    except OSError as error:
        said.append(error.strerror)
print("SAID" + json.dumps(said))
"""
NO = "Read-only file system"


@pytest.fixture(scope="module")
def workspace(home, tmp_path_factory):
    try:
        guarded = readonly.guard([str(tmp_path_factory.mktemp("tried"))], [])
    except OSError as error:
        pytest.skip(f"the kernel does not let us: {error}")
    for descriptor, _ in guarded.namespaces:
        os.close(descriptor)
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture
def run(workspace, tmp_path):
    """run(code, arguments) → what it said, and its logs"""

    def run(code, arguments, **variables):
        source = tmp_path / f"source-{len(os.listdir(tmp_path))}"
        source.mkdir()
        (source / "train.py").write_text(code)
        environment = Environment("mine")
        environment.python.user_managed_dependencies = True
        environment.environment_variables = variables
        run = Experiment(workspace, "mounts").submit(
            ScriptRunConfig(str(source), "train.py", arguments, environment=environment)
        )
        run.wait_for_completion()
        logs = run.get_details_with_logs()["logFiles"]
        said = next(it[4:] for it in logs["azureml-logs/70_driver_log.txt"].splitlines() if it.startswith("SAID"))
        return json.loads(said), logs["azureml-logs/55_azureml-execution-node-0.txt"]

    return run


@pytest.fixture
def folder(tmp_path):
    for name in ("folder/a.txt", "folder/b.txt", "single.csv", "some/1.txt", "some/2.txt", "some/3.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def test_mounted_data_is_read_only_and_outputs_in_it_are_not(workspace, run, folder):
    store = workspace.get_default_datastore()
    store.upload(str(folder / "folder"), "inside", show_progress=False)
    arguments = [
        Dataset.File.from_files(str(folder / "folder")).as_mount(),
        Dataset.File.from_files(str(folder / "single.csv")).as_mount(),
        Dataset.File.from_files(str(folder / "some/*.txt")).as_mount(),
        Dataset.File.from_files((store, "inside")).as_mount(),
        Dataset.File.from_files(str(folder / "folder")).as_download(),
        OutputFileDatasetConfig("out", (store, "inside/out")),
        str(folder / "some/3.csv"),
        str(folder / "some/1.txt"),
    ]
    said, log = run(WRITES, arguments)
    assert said == [NO, NO, NO, NO, "wrote", "wrote", "wrote", NO]
    assert "Z Read-only for the processes: " in log
    assert (folder / "folder/a.txt").read_text() == (folder / "single.csv").read_text() == "x"
    assert Dataset.File.from_files((store, "inside")).to_path() == ["/a.txt", "/b.txt", "/out/new"]


def test_who_wants_to_write_may_say_so(run, folder):
    said, log = run(
        WRITES, [Dataset.File.from_files(str(folder / "folder")).as_mount()], TRAINYARD_READ_ONLY_MOUNTS="0"
    )
    assert said == ["wrote"]
    assert "Read-only" not in log


def test_a_job_stores_below_what_it_has_mounted_through_the_service(workspace, run, folder):
    store = workspace.get_default_datastore()
    store.upload(str(folder / "folder"), "grows", show_progress=False)
    code = """
import json, os, sys
from azureml.core import Run
with open("more", "w") as file:
    file.write("more")
store = Run.get_context().experiment.workspace.get_default_datastore()
store.upload_files(["more"], target_path="grows/more", show_progress=False)
print("SAID" + json.dumps(sorted(os.listdir(sys.argv[1]))))
"""
    assert run(code, [Dataset.File.from_files((store, "grows")).as_mount()])[0] == ["a.txt", "b.txt", "more"]


def test_a_script_that_writes_into_its_data_is_told_what_to_do(run, folder):
    code = "import sys; open(sys.argv[1] + '/mine', 'w')"
    with pytest.raises(ActivityFailedException, match="may only read, as mounted data is") as failed:
        run(code, [Dataset.File.from_files(str(folder / "folder")).as_mount()])
    assert "as_download()" in str(failed.value)
