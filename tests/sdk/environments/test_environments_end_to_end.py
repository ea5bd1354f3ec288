"""Environments and estimators against the real service and builder, with packages made here."""

import pytest
from wheels import make_wheel

from trainyard.sdk.environments.conda_dependencies import CondaDependencies
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import ComputeTargetException, UserErrorException
from trainyard.sdk.estimators.dnn import TensorFlow
from trainyard.sdk.estimators.estimator import Estimator
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.submitting.distributed_training import Mpi
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

TRAIN = """\
import os, sys
import greenhouse
from azureml.core import Run
print("greenhouse", greenhouse.version, sys.argv[1:])
Run.get_context().log("greenhouse", greenhouse.version)
"""


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder of wheels, and the pip options that make it the whole world."""
    folder = tmp_path_factory.mktemp("shelf")
    for version in ("1.0", "2.0"):
        make_wheel(folder, "greenhouse", version)
    return ["--no-index", f"--find-links {folder}"]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return str(folder)


def with_packages(name, shelf, *packages):
    made = Environment(name)
    made.python.conda_dependencies = CondaDependencies.create(pip_packages=list(packages))
    for option in shelf:
        made.python.conda_dependencies.set_pip_option(option)
    return made


def test_an_estimators_packages_are_there_and_a_second_submit_builds_nothing(workspace, shelf, source):
    experiment = Experiment(workspace, "estimators")

    def submit(**overrides):
        est = Estimator(
            source_directory=source,
            script_params={"--epochs": 3, "--quiet": ""},
            compute_target="local",
            entry_script="train.py",
            pip_packages=[*shelf, "greenhouse==1.0"],
        )
        run = experiment.submit(est, tags={"kind": "estimator"}, **overrides)
        run.wait_for_completion()
        return run

    first, second = submit(), submit(script_params={"--epochs": 4})
    assert first.get_metrics() == second.get_metrics() == {"greenhouse": "1.0"}
    assert first.get_tags() == {"kind": "estimator"}
    assert first.get_details()["runDefinition"]["arguments"] == ["--epochs", "3", "--quiet"]
    assert second.get_details()["runDefinition"]["arguments"] == ["--epochs", "4", "--quiet"]
    assert "azureml-logs/20_image_build_log.txt" in first.get_file_names()
    assert "azureml-logs/20_image_build_log.txt" not in second.get_file_names()
    assert "greenhouse==1.0" in second.get_environment().python.conda_dependencies.pip_packages


def test_a_run_is_repeated_from_its_lock(workspace, source, tmp_path):
    make_wheel(tmp_path / "shelf", "greenhouse", "1.0")
    world = ["--no-index", f"--find-links {tmp_path / 'shelf'}"]
    experiment = Experiment(workspace, "locks")

    def greenhouse(environment):
        run = experiment.submit(ScriptRunConfig(source, "train.py", environment=environment))
        run.wait_for_completion()
        return run.get_metrics()["greenhouse"], run

    first, run = greenhouse(with_packages("any", world, "greenhouse"))
    make_wheel(tmp_path / "shelf", "greenhouse", "2.0")
    again = run.get_environment()
    changed = run.get_environment()
    changed.python.conda_dependencies.add_pip_package("greenhouse>1.0")
    assert len(again.python.lock) == 64
    assert changed.python.lock is None
    assert (first, greenhouse(again)[0], greenhouse(changed)[0]) == ("1.0", "1.0", "2.0")


def test_what_we_fill_in_is_a_wish_and_what_a_user_pins_is_not(workspace, shelf, source):
    mine = with_packages("wish", shelf, "greenhouse==1.5")
    mine.python._filled_in = ("greenhouse==1.5",)
    run = Experiment(workspace, "wishes").submit(
        ScriptRunConfig(source, "train.py", compute_target="local", environment=mine)
    )
    details = run.wait_for_completion()
    assert run.get_metrics() == {"greenhouse": "1.0"}
    (warning,) = details["warnings"]
    assert warning["message"].startswith("greenhouse==1.5 cannot be had for Python ")
    build = with_packages("pin", shelf, "greenhouse==1.5").build(workspace)
    with pytest.raises(UserErrorException, match=r"pin was not built: .*greenhouse==1\.5 .*relax_pins"):
        build.wait_for_completion(show_output=False)
    assert build.status == "Failed"


def test_registered_versions(workspace, shelf):
    first = with_packages("registered", shelf, "greenhouse==1.0")
    kept = first.register(workspace)
    assert (kept is first, kept.version, first.version) == (False, "1", None)
    assert str(kept) == "Environment(Name: registered, Version: 1)"
    first.python.conda_dependencies.add_pip_package("greenhouse==2.0")
    assert first.register(workspace).version == "2"
    assert first.register(workspace).version == "2"  # it says the same
    got = Environment.get(workspace, "registered")
    assert (got.version, list(got.python.conda_dependencies.pip_packages)) == ("2", ["greenhouse==2.0"])
    assert Environment.get(workspace, "registered", version="1").to_definition() == kept.to_definition()
    assert Environment.get(workspace, "registered", version=1).version == "1"
    for asked in ({"name": "nobody"}, {"name": "registered", "version": "9"}, {"name": "registered", "label": "none"}):
        with pytest.raises(Exception, match="No ") as raised:
            Environment.get(workspace, **asked)
        assert type(raised.value) is Exception


def test_a_label_is_on_one_version(workspace, shelf):
    for version in ("1.0", "2.0"):
        with_packages("labelled", shelf, f"greenhouse=={version}").register(workspace)
    Environment.label(workspace, "labelled", "1", ["stable", "old"])
    assert Environment.get(workspace, "labelled", label="stable").version == "1"
    Environment.label(workspace, "labelled", 2, ["stable"])
    assert Environment.get(workspace, "labelled", label="stable").version == "2"
    assert Environment.get(workspace, "labelled", label="old").version == "1"
    assert Environment.get(workspace, "labelled", label="Latest").version == "2"
    with pytest.raises(UserErrorException, match="'latest' is on the newest version by itself"):
        Environment.label(workspace, "labelled", "1", ["latest"])


def test_curated_ones_are_listed_with_the_users_own(workspace, shelf):
    with_packages("listed", shelf, "greenhouse").register(workspace)
    found = workspace.environments
    assert found["listed"].version == "1"
    assert "AzureML-Minimal" in found
    assert Environment.get(workspace, "azureml-minimal").name == "AzureML-Minimal"
    with pytest.raises(Exception, match="No curated environment 'AzureML-TensorFlow'") as raised:
        Environment.get(workspace=workspace, name="AzureML-TensorFlow")
    assert "AzureML-TensorFlow-2.3-GPU" in str(raised.value)
    assert type(raised.value) is Exception
    with pytest.raises(Exception, match="No version '7' of the curated environment"):
        Environment.get(workspace, "AzureML-Minimal", "7")


def test_a_build_to_wait_for(workspace, shelf, capsys):
    build = with_packages("built", shelf, "greenhouse==2.0").build(workspace)
    assert build.log_url.startswith("http://127.0.0.1:")
    build.wait_for_completion(show_output=True)
    assert build.status == "Succeeded"
    shown = capsys.readouterr().out
    assert shown.startswith("Image Build Status: Running\n")
    assert " + greenhouse==2.0" in shown
    assert shown.endswith("\nImage Build Status: Succeeded\n")
    assert " + greenhouse==2.0" in with_packages("built", shelf, "greenhouse==2.0").build_local(workspace)


def test_a_private_wheel(workspace, source, tmp_path):
    wheel = make_wheel(tmp_path / "made", "greenhouse", "3.0")
    address = Environment.add_private_pip_wheel(workspace, str(wheel))
    with pytest.raises(UserErrorException, match="exist_ok=True"):
        Environment.add_private_pip_wheel(workspace, str(wheel))
    assert Environment.add_private_pip_wheel(workspace, str(wheel), exist_ok=True) == address
    with pytest.raises(UserErrorException, match="is not a wheel"):
        Environment.add_private_pip_wheel(workspace, str(tmp_path / "none.whl"))
    run = Experiment(workspace, "wheels").submit(
        Estimator(source, compute_target="local", entry_script="train.py", pip_packages=[address])
    )
    run.wait_for_completion()
    assert run.get_metrics() == {"greenhouse": "3.0"}


def test_a_cluster_is_made_for_a_run_that_describes_one(workspace, source, tmp_path):
    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    (tmp_path / "source" / "train.py").write_text("print('here')\n")
    est = Estimator(source, vm_size="STANDARD_D2_V2", entry_script="train.py", environment_definition=mine)
    run = Experiment(workspace, "described").submit(est)
    assert run.wait_for_completion()["target"] == "amlcompute-d2-v2"
    assert workspace.compute_targets["amlcompute-d2-v2"].vm_size == "STANDARD_D2_V2"


def test_a_distributed_run_without_its_target_is_refused_at_submit(workspace, source):
    est = TensorFlow(source, compute_target="c", entry_script="train.py", node_count=2, distributed_training=Mpi())
    experiment = Experiment(workspace, "refused")
    with pytest.raises(ComputeTargetException, match="name c not found"):
        experiment.submit(est)
    assert list(experiment.get_runs()) == []
