import pathlib
import sys

import pytest

from trainyard.contract.runs import Role
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import ExperimentExecutionException, UserErrorException
from trainyard.sdk.submitting.arguments import serialised
from trainyard.sdk.submitting.inherited import inherited_variables
from trainyard.sdk.submitting.runconfig import RunConfiguration
from trainyard.sdk.submitting.runconfig_parts import (
    DockerConfiguration,
    MpiConfiguration,
    PyTorchConfiguration,
    TensorflowConfiguration,
)
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.submitting.submit import checked, run_spec


@pytest.fixture
def source(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "train.py").write_text("")
    (tmp_path / "pkg" / "main.py").write_text("")
    return tmp_path


def spec_of(config, environ=None):
    return run_spec(checked(config)[0], "f" * 64, environ or {})


def test_arguments_become_text():
    assert serialised(["--n", 3, 0.5, True, pathlib.PurePosixPath("a/b")]) == ("--n", "3", "0.5", "True", "a/b")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--x", object()], r"arguments\[1\] is a builtins.object"),
        ([None], r"arguments\[0\] is None"),
        (["a", ["b"]], r"arguments\[1\] is a builtins.list"),
        ("--epochs 3", "must be a flat list"),
        ({"--epochs": 3}, "must be a flat list"),
        (["a\0b"], "NUL"),
        (["caf\udce9"], r"arguments\[0\] is 'caf\\udce9', which has bytes that are no text"),
        ([pathlib.PurePosixPath("caf\udce9")], r"arguments\[0\] is 'caf\\udce9', which has bytes that are no text"),
    ],
)
def test_an_argument_that_does_not_serialise_is_named_by_place_and_type(given, says):
    with pytest.raises(UserErrorException, match=says):
        serialised(given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"A": "x\0"}, r"environment_variables\['A'\] has a NUL"),
        ({"A\0": "x"}, "A name in environment_variables has a NUL"),
        ({"A": "caf\udce9"}, "bytes that are no text"),
        ({"A=B": "x"}, "'A=B' cannot be the name of a variable"),
        ({"": "x"}, "'' cannot be the name of a variable"),
        (["A=x"], "must be a dict"),
    ],
)
@pytest.mark.parametrize("of", ["environment", "run_config"])
def test_a_variable_that_no_process_can_be_given_is_refused(source, of, given, says):
    config = ScriptRunConfig(str(source), "train.py")
    (config.run_config.environment if of == "environment" else config.run_config).environment_variables = given
    with pytest.raises(UserErrorException, match=says):
        checked(config)


def test_variables_become_text_and_none_at_all_is_none(source):
    config = ScriptRunConfig(str(source), "train.py")
    config.run_config.environment_variables = {"SEED": 7}
    assert spec_of(config).variables == {"SEED": "7"}
    config.run_config.environment_variables = None
    assert spec_of(config).variables == {}


def test_a_script_in_a_folder_is_named_from_the_source(source):
    assert spec_of(ScriptRunConfig(str(source), "./pkg/main.py")).script == "pkg/main.py"
    assert spec_of(ScriptRunConfig(str(source), str(source / "train.py"))).script == "train.py"


def test_restarts_are_torchruns_work(source):
    how = PyTorchConfiguration("Gloo", process_count=4, node_count=2, max_restarts=3, min_node_count=1)
    spec = spec_of(ScriptRunConfig(str(source), "train.py", distributed_job_config=how))
    assert (spec.launcher, spec.nodes, spec.min_nodes, spec.max_restarts) == ("torchrun", 2, 1, 3)
    assert (spec.roles, spec.ports) == ((Role("worker", 4),), 1)
    assert spec.definition["pyTorch"]["maxRestarts"] == 3
    plain = PyTorchConfiguration("Gloo", process_count=4, node_count=2)
    spec = spec_of(ScriptRunConfig(str(source), "train.py", distributed_job_config=plain))
    assert (spec.launcher, spec.min_nodes, spec.max_restarts) == ("torch", 0, 0)
    assert spec.definition["pyTorch"] == {"communicationBackend": "Gloo", "processCount": 4}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"max_restarts": -1}, "max_restarts is -1"),
        ({"max_restarts": "3"}, "max_restarts is '3'"),
        ({"min_node_count": 0}, "min_node_count is 0"),
        ({"min_node_count": 3}, "min_node_count is 3 and node_count 2"),
        ({"max_restarts": 1, "process_count": 3}, "process_count is 3 and node_count 2"),
    ],
)
def test_restarts_that_cannot_be(source, how, says):
    config = PyTorchConfiguration("Gloo", node_count=2, **how)
    with pytest.raises(UserErrorException, match=says):
        spec_of(ScriptRunConfig(str(source), "train.py", distributed_job_config=config))


@pytest.mark.parametrize("script", ["missing.py", "../train.py", "pkg"])
def test_a_script_that_is_not_there_is_refused(source, script):
    with pytest.raises(ExperimentExecutionException, match="source_directory"):
        checked(ScriptRunConfig(str(source / "pkg") if script.startswith("..") else str(source), script))


def test_a_directory_that_is_not_there_is_refused(source):
    with pytest.raises(UserErrorException, match="does not exist"):
        checked(ScriptRunConfig(str(source / "nowhere"), "train.py"))
    with pytest.raises(UserErrorException, match="is a file"):
        checked(ScriptRunConfig(str(source / "train.py"), "train.py"))


def test_nothing_to_run_is_refused(source):
    with pytest.raises(UserErrorException, match="Nothing to run"):
        checked(ScriptRunConfig(str(source)))


def test_a_command_is_joined_with_spaces(source):
    spec = spec_of(ScriptRunConfig(str(source), command=["python", "train.py", "--n", 3]))
    assert (spec.command, spec.script, spec.arguments) == ("python train.py --n 3", None, ())


def test_the_config_is_not_changed_by_being_submitted(source):
    shared = RunConfiguration()
    checked(ScriptRunConfig(str(source), "train.py", ["--a", 1], run_config=shared))
    assert (shared.script, shared.arguments) == (None, [])


def test_what_cannot_be_had_yet_is_told(source):
    config = ScriptRunConfig(str(source), "train.py")
    config.run_config.data["x"] = object()
    with pytest.raises(UserErrorException, match="as_named_input"):
        checked(config)
    config = ScriptRunConfig(str(source), "train.py")
    config.run_config.node_count = 0
    with pytest.raises(UserErrorException, match="node_count is 0"):
        checked(config)


def test_a_user_managed_environment_runs_with_the_submitters_interpreter(source):
    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    assert spec_of(ScriptRunConfig(str(source), "train.py", environment=mine)).environment.interpreter == sys.executable
    mine.python.interpreter_path = "/opt/python"
    assert spec_of(ScriptRunConfig(str(source), "train.py", environment=mine)).environment.interpreter == "/opt/python"
    assert spec_of(ScriptRunConfig(str(source), "train.py")).environment.interpreter is None


def test_pins_are_relaxed_by_a_variable(source):
    config = ScriptRunConfig(str(source), "train.py")
    assert spec_of(config, {"TRAINYARD_RELAX_PINS": "1"}).relax_pins is True
    assert spec_of(config, {"TRAINYARD_RELAX_PINS": "0"}).relax_pins is False


def test_a_job_inherits_what_finds_programs_and_nothing_else():
    environ = {
        "PATH": "/bin", "LC_ALL": "C", "XDG_CACHE_HOME": "/c", "https_proxy": "p", "NO_PROXY": "n", "HF_HOME": "/h",
        "AWS_SECRET_ACCESS_KEY": "s", "TRAINYARD_TOKEN": "t", "PYTHONPATH": "/x", "MY_SETTING": "1",
    }  # fmt: skip
    assert sorted(inherited_variables(environ)) == [
        "HF_HOME",
        "LC_ALL",
        "NO_PROXY",
        "PATH",
        "XDG_CACHE_HOME",
        "https_proxy",
    ]


@pytest.mark.parametrize(
    ("job", "launcher", "nodes", "roles"),
    [
        (None, "single", 1, ()),
        (MpiConfiguration(process_count_per_node=2, node_count=3), "mpi", 3, (Role("worker", 6),)),
        (TensorflowConfiguration(2, 1), "tf_config", 2, (Role("worker", 2), Role("ps", 1))),
        (TensorflowConfiguration(2, 0), "tf_config", 2, (Role("worker", 2),)),
        (PyTorchConfiguration(node_count=2), "torch", 2, (Role("worker", 2),)),
        (PyTorchConfiguration("Gloo", process_count=8, node_count=2), "torch", 2, (Role("worker", 8),)),
    ],
)
def test_how_many_processes_of_each_role(job, launcher, nodes, roles, source):
    spec = spec_of(ScriptRunConfig(str(source), "train.py", distributed_job_config=job))
    assert (spec.launcher, spec.nodes, spec.roles) == (launcher, nodes, roles)


@pytest.mark.parametrize(
    ("job", "says"),
    [
        (TensorflowConfiguration(1.5, 0), "worker_count is 1.5; it must be a whole number"),
        (TensorflowConfiguration(True, 0), "worker_count is True; it must be a whole number"),
        (MpiConfiguration(float("inf"), 1), "process_count_per_node is inf; it must be a whole number"),
        (MpiConfiguration(1, None), "node_count is None; it must be a whole number"),
        (PyTorchConfiguration("Gloo", 1, 2), "at least 2: it counts the processes of all nodes, and each has one"),
    ],
)
def test_counts_that_are_none(job, says, source):
    with pytest.raises(UserErrorException, match=says):
        checked(ScriptRunConfig(str(source), "train.py", distributed_job_config=job))


def test_a_docker_configuration_counts_as_the_environments_own(source):
    config = ScriptRunConfig(
        str(source),
        "train.py",
        docker_runtime_config=DockerConfiguration(use_docker=True, arguments=["--cpus", "2"], shm_size="4g"),
    )
    docker = spec_of(config).environment.definition["docker"]
    assert (docker["enabled"], docker["arguments"], docker["shmSize"]) == (True, ["--cpus", "2"], "4g")
    assert spec_of(ScriptRunConfig(str(source), "train.py")).environment.definition["docker"]["enabled"] is False
