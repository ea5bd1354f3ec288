"""Estimators as parameters in, RunConfiguration and RunSpec out. Nothing here needs a service."""

import importlib
import inspect
import logging
from types import SimpleNamespace

import pytest

from azureml.data.datapath import DataPath
from trainyard.contract.data import DatastoreKind, DatastoreRecord
from trainyard.contract.runs import Role
from trainyard.sdk.data.datastore_kinds import datastore_of
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import ExperimentExecutionException, TrainingException, UserErrorException
from trainyard.sdk.estimators.dnn import Chainer, PyTorch, TensorFlow
from trainyard.sdk.estimators.estimator import Estimator
from trainyard.sdk.estimators.sklearn_estimator import SKLearn
from trainyard.sdk.submitting.distributed_training import Gloo, Mpi, Nccl, ParameterServer
from trainyard.sdk.submitting.runconfig_parts import MpiConfiguration, TensorflowConfiguration
from trainyard.sdk.submitting.submit import checked, run_spec

ALL = (Estimator, TensorFlow, PyTorch, Chainer, SKLearn)

# The parameters of both generations, in the SDK's order.
COMMON = [
    "compute_target",
    "vm_size",
    "vm_priority",
    "entry_script",
    "script_params",
    "node_count",
    "process_count_per_node",
    "distributed_backend",
    "distributed_training",
    "use_gpu",
    "use_docker",
    "custom_docker_base_image",
    "custom_docker_image",
    "image_registry_details",
    "user_managed",
    "conda_packages",
    "pip_packages",
    "conda_dependencies_file_path",
    "pip_requirements_file_path",
    "conda_dependencies_file",
    "pip_requirements_file",
    "environment_variables",
    "environment_definition",
    "inputs",
    "source_directory_data_store",
    "shm_size",
    "resume_from",
    "max_run_duration_seconds",
]
OF_SKLEARN = [
    "compute_target",
    "vm_size",
    "vm_priority",
    "entry_script",
    "script_params",
    "use_docker",
    "custom_docker_image",
    "image_registry_details",
    "user_managed",
    "conda_packages",
    "pip_packages",
    "conda_dependencies_file_path",
    "pip_requirements_file_path",
    "conda_dependencies_file",
    "pip_requirements_file",
    "environment_variables",
    "environment_definition",
    "inputs",
    "shm_size",
    "resume_from",
    "max_run_duration_seconds",
    "framework_version",
]
DEFAULTS = {"node_count": 1, "process_count_per_node": 1, "worker_count": 1, "parameter_server_count": 1}
DEFAULTS |= {"use_gpu": False, "use_docker": True, "user_managed": False}


@pytest.fixture
def source(tmp_path):
    (tmp_path / "train.py").write_text("")
    return str(tmp_path)


def spec_of(estimator, **overrides):
    return run_spec(checked(estimator._script_run_config(**overrides))[0], "f" * 64, {})


def pip_of(estimator):
    return list(estimator.conda_dependencies.pip_packages)


def filled_in(estimator):
    return spec_of(estimator).environment.definition["python"].get("frameworkDefaults", [])


def workers(worker_count_at):
    names = list(COMMON)
    names[worker_count_at:worker_count_at] = ["worker_count", "parameter_server_count"]
    return names


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (Estimator, COMMON),
        (TensorFlow, [*workers(7), "framework_version"]),
        (PyTorch, [*COMMON, "framework_version"]),
        (Chainer, [*COMMON, "framework_version"]),
        (SKLearn, OF_SKLEARN),
    ],
)
def test_the_parameters_are_the_sdks(kind, names):
    first, *rest = inspect.signature(kind).parameters.values()
    assert (first.name, first.kind) == ("source_directory", first.POSITIONAL_OR_KEYWORD)
    assert [it.name for it in rest] == names
    assert all(it.kind is it.KEYWORD_ONLY and it.default == DEFAULTS.get(it.name) for it in rest)


def test_the_page_of_2018_as_written(source):
    est = TensorFlow(
        source_directory=source,
        script_params={"--batch-size": 50, "--learning-rate": 0.01},
        compute_target="cpu-cluster",
        entry_script="train.py",
        conda_packages=["scikit-learn"],
        use_gpu=True,
    )
    spec = spec_of(est)
    assert (spec.target, spec.script, spec.launcher, spec.nodes, spec.roles) == (
        "cpu-cluster",
        "train.py",
        "single",
        1,
        (),
    )
    assert spec.arguments == ("--batch-size", "50", "--learning-rate", "0.01")
    assert spec.environment.definition["python"]["condaDependencies"]["dependencies"] == [
        "python=3.6.2",
        "scikit-learn",
        {"pip": ["azureml-defaults", "tensorflow-gpu==1.13.1"]},
    ]
    assert filled_in(est) == ["tensorflow-gpu"]


@pytest.mark.parametrize(
    ("kind", "name", "versions", "default"),
    [
        (TensorFlow, "TensorFlow", ["1.10", "1.12", "1.13", "2.0", "2.1", "2.2", "2.3"], "1.13"),
        (PyTorch, "PyTorch", ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"], "1.4"),
        (Chainer, "Chainer", ["5.1.0", "7.0.0"], "5.1.0"),
        (SKLearn, "SKLearn", ["0.20.3"], "0.20.3"),
    ],
)
def test_the_versions_of_each_framework(kind, name, versions, default, source):
    assert (name, default) == (kind.FRAMEWORK_NAME, kind.DEFAULT_VERSION)
    assert kind.get_supported_versions() == versions
    assert kind(source, compute_target="local").framework_version == default
    for version in versions:
        assert kind(source, compute_target="local", framework_version=version).framework_version == version
    with pytest.raises(TrainingException, match=rf"'9.9' is not one that {name} has here. Use one of {versions[0]}"):
        kind(source, compute_target="local", framework_version="9.9")


@pytest.mark.parametrize(
    ("kind", "version", "mpi", "requirements"),
    [
        (TensorFlow, "1.10", True, ["tensorflow-cpu==1.10.0", "horovod==0.15.2"]),
        (TensorFlow, "1.13", True, ["tensorflow-cpu==1.13.1", "horovod==0.16.1"]),
        (TensorFlow, "2.0", True, ["tensorflow-cpu==2.0.0", "horovod==0.18.1"]),
        (TensorFlow, "2.1", True, ["tensorflow-cpu==2.1.0", "horovod==0.19.1"]),
        (TensorFlow, "2.2", False, ["tensorflow-cpu==2.2.0"]),
        (PyTorch, "1.1", True, ["torch==1.1.0", "torchvision", "horovod==0.16.1"]),
        (PyTorch, "1.4", False, ["torch==1.4.0", "torchvision"]),
        (PyTorch, "1.5", True, ["torch==1.5.0", "torchvision", "horovod==0.19.1"]),
        (Chainer, "5.1.0", True, ["chainer==5.1.0", "mpi4py"]),
        (Chainer, "7.0.0", False, ["chainer==7.0.0"]),
        (SKLearn, None, False, ["scikit-learn==0.20.3"]),
    ],
)
def test_what_a_framework_brings(kind, version, mpi, requirements, source):
    more = {"distributed_training": Mpi()} if mpi else {}
    est = kind(source, compute_target="local", entry_script="train.py", framework_version=version, **more)
    assert pip_of(est) == ["azureml-defaults", *requirements]
    assert filled_in(est) == [line.partition("==")[0] for line in requirements]


@pytest.mark.parametrize(
    ("kind", "more", "left"),
    [
        (TensorFlow, {"pip_packages": ["tensorflow==2.16.1"]}, ["azureml-defaults", "tensorflow==2.16.1"]),
        (PyTorch, {"conda_packages": ["pytorch"]}, ["azureml-defaults", "torchvision"]),
        (SKLearn, {"pip_packages": ["scikit-learn"]}, ["azureml-defaults", "scikit-learn"]),
    ],
)
def test_a_framework_that_the_user_brings_is_not_brought_twice(kind, more, left, source):
    est = kind(source, compute_target="local", entry_script="train.py", **more)
    assert pip_of(est) == left
    assert "scikit-learn" not in filled_in(est)


def test_a_version_that_the_user_sets_later_is_a_pin(source):
    est = TensorFlow(source, compute_target="local", entry_script="train.py")
    assert filled_in(est) == ["tensorflow-cpu"]
    est.conda_dependencies.add_pip_package("tensorflow-cpu==2.16.1")
    assert pip_of(est) == ["azureml-defaults", "tensorflow-cpu==2.16.1"]
    assert filled_in(est) == []


@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        (None, ()),
        ({}, ()),
        ({"--flag": "", "--other": None}, ("--flag", "--other")),
        ({"--layers": [64, 32], "--names": ("a", "b")}, ("--layers", "64", "32", "--names", "a", "b")),
        ({"--zero": 0, "--false": False}, ("--zero", "0", "--false", "False")),
        ({"--home": "$HOME/data"}, ("--home", "$HOME/data")),
    ],
)
def test_script_params_become_a_flat_list(params, arguments, source):
    est = Estimator(source, compute_target="local", entry_script="train.py", script_params=params)
    assert spec_of(est).arguments == arguments


@pytest.mark.parametrize(
    ("params", "error", "says"),
    [
        (["--epochs", 3], TrainingException, "must be a dictionary"),
        ({"--data": object()}, UserErrorException, r"script_params\[1\] is a builtins.object"),
    ],
)
def test_script_params_that_cannot_be_passed(params, error, says, source):
    with pytest.raises(error, match=says):
        Estimator(source, compute_target="local", entry_script="train.py", script_params=params)


MANY = {"compute_target": "cluster", "node_count": 2}


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        (Estimator, {}, "Nothing says where to train"),
        (Estimator, {"compute_target": "local", "node_count": 0}, "node_count is 0"),
        (Estimator, {"compute_target": "local", "process_count_per_node": 0}, "process_count_per_node is 0"),
        (Estimator, {"compute_target": "local", "node_count": "2"}, "node_count is '2'"),
        (Estimator, MANY, "node_count is 2, and nothing says how"),
        (TensorFlow, {"compute_target": "c", "process_count_per_node": 2}, "process_count_per_node is 2, and nothing"),
        (Estimator, {**MANY, "distributed_backend": "ps"}, "'ps' is not supported here. This estimator takes mpi"),
        (TensorFlow, {**MANY, "distributed_backend": "gloo"}, "takes mpi, ps"),
        (PyTorch, {**MANY, "distributed_backend": "ps"}, "takes mpi, gloo, nccl"),
        (Chainer, {**MANY, "distributed_training": Gloo()}, r"cannot be Gloo here. This estimator takes Mpi\(\)"),
        (TensorFlow, {**MANY, "distributed_training": Mpi}, "cannot be Mpi here"),
        (TensorFlow, {**MANY, "distributed_backend": "mpi", "distributed_training": Mpi()}, "say the same thing"),
        (Estimator, {"compute_target": "local", "node_count": 2, "distributed_backend": "mpi"}, "has one node"),
        (TensorFlow, {**MANY, "distributed_backend": "ps", "worker_count": 0}, "worker_count is 0"),
        (
            Estimator,
            {"compute_target": "c", "conda_dependencies_file": "env.yml", "pip_packages": ["numpy"]},
            "so pip_packages cannot be given with it",
        ),
        (
            Estimator,
            {"compute_target": "c", "conda_dependencies_file_path": "env.yml", "conda_packages": ["numpy"]},
            "so conda_packages cannot be given with it",
        ),
        (Estimator, {"compute_target": "c", "pip_packages": "numpy"}, "must be a list of names"),
        (Estimator, {"compute_target": "c", "environment_definition": "mine"}, "give an Environment"),
    ],
)
def test_what_does_not_go_together(kind, given, says, source):
    with pytest.raises(TrainingException, match=says):
        kind(source, entry_script="train.py", **given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"worker_count": 3}, "worker_count=3 has no effect here: it goes with distributed_backend='ps'"),
        ({**MANY, "distributed_backend": "mpi", "parameter_server_count": 2}, "parameter_server_count=2 has no effect"),
        (
            {**MANY, "distributed_backend": "ps", "process_count_per_node": 2},
            "process_count_per_node=2 has no effect here: with distributed_backend='ps', worker_count says",
        ),
        (
            {**MANY, "distributed_training": Mpi(2), "process_count_per_node": 4},
            "process_count_per_node=4 has no effect here: distributed_training has counts of its own",
        ),
        (
            {**MANY, "distributed_training": MpiConfiguration(node_count=3)},
            "node_count=3 of distributed_training has no effect here",
        ),
        (
            {"source_directory_data_store": object()},
            "source_directory_data_store has no effect here: the service itself keeps the source directory",
        ),
    ],
)
def test_what_is_not_used_is_told(given, says, source):
    with pytest.warns(UserWarning, match=says):
        TensorFlow(source, entry_script="train.py", **{"compute_target": "cluster", **given})


@pytest.mark.parametrize(
    "beside",
    [
        {"use_gpu": True},
        {"custom_docker_image": "image"},
        {"custom_docker_base_image": "image"},
        {"user_managed": True},
        {"conda_packages": ["numpy"]},
        {"pip_packages": ["numpy"]},
        {"pip_requirements_file": "r.txt"},
        {"conda_dependencies_file": "env.yml"},
    ],
)
def test_an_environment_definition_says_everything(beside, source):
    with pytest.raises(TrainingException, match=f"so {next(iter(beside))} cannot be given"):
        Estimator(source, compute_target="local", environment_definition=Environment("mine"), **beside)


def test_an_environment_definition_is_taken_as_it_is(source):
    mine = Environment("mine")
    est = TensorFlow(source, compute_target="local", entry_script="train.py", environment_definition=mine)
    assert est.run_config.environment is mine
    assert est.conda_dependencies is mine.python.conda_dependencies
    assert pip_of(est) == ["azureml-defaults"]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("inputs", [object()], "inputs has a object"),
        ("resume_from", "outputs", "resume_from is a DataPath, not a str"),
    ],
)
def test_what_is_no_data_is_refused(name, value, says, source):
    with pytest.raises(UserErrorException, match=says):
        Estimator(source, compute_target="local", entry_script="train.py", **{name: value})


@pytest.mark.parametrize(
    ("kind", "given", "framework", "communicator", "launcher", "roles"),
    [
        (TensorFlow, {"distributed_backend": "mpi"}, "Python", "IntelMpi", "mpi", (Role("worker", 2),)),
        (
            TensorFlow,
            {"distributed_training": Mpi(process_count_per_node=3)},
            "Python",
            "IntelMpi",
            "mpi",
            (Role("worker", 6),),
        ),
        (
            TensorFlow,
            {"distributed_backend": "ps", "worker_count": 2, "parameter_server_count": 1},
            "TensorFlow",
            "ParameterServer",
            "tf_config",
            (Role("worker", 2), Role("ps", 1)),
        ),
        (
            TensorFlow,
            {"distributed_training": ParameterServer(worker_count=2)},
            "TensorFlow",
            "ParameterServer",
            "tf_config",
            (Role("worker", 2), Role("ps", 1)),
        ),
        (
            TensorFlow,
            {"distributed_training": MpiConfiguration(process_count_per_node=2)},
            "Python",
            "IntelMpi",
            "mpi",
            (Role("worker", 4),),
        ),
        (
            TensorFlow,
            {"distributed_training": TensorflowConfiguration(worker_count=2)},
            "TensorFlow",
            "ParameterServer",
            "tf_config",
            (Role("worker", 2), Role("ps", 1)),
        ),
        (PyTorch, {"distributed_training": Gloo()}, "PyTorch", "Gloo", "torch", (Role("worker", 2),)),
        (PyTorch, {"distributed_training": Nccl()}, "PyTorch", "Nccl", "torch", (Role("worker", 2),)),
        (
            PyTorch,
            {"distributed_backend": "nccl", "process_count_per_node": 2},
            "PyTorch",
            "Nccl",
            "torch",
            (Role("worker", 4),),
        ),
        (Chainer, {"distributed_backend": "MPI"}, "Python", "IntelMpi", "mpi", (Role("worker", 2),)),
    ],
)
def test_distributed_settings_of_both_generations(kind, given, framework, communicator, launcher, roles, source):
    est = kind(source, compute_target="cluster", entry_script="train.py", node_count=2, **given)
    assert (est.run_config.framework, est.run_config.communicator) == (framework, communicator)
    spec = spec_of(est)
    assert (spec.nodes, spec.launcher, spec.roles) == (2, launcher, roles)


def test_a_cluster_that_is_described_instead_of_named(source):
    est = Estimator(source, vm_size="STANDARD_NC6", vm_priority="lowpriority", entry_script="train.py")
    assert est.run_config.target == "amlcompute"
    assert (est.run_config.amlcompute.vm_size, est.run_config.amlcompute.vm_priority) == ("STANDARD_NC6", "lowpriority")


def test_files_of_packages_are_found_below_the_source(source, tmp_path):
    (tmp_path / "r.txt").write_text("numpy==1.26.4  # why\n# a comment\n--pre\nscipy\n")
    est = Estimator(
        source,
        compute_target="local",
        entry_script="train.py",
        pip_requirements_file="r.txt",
        pip_packages=["scipy>=1"],
    )
    assert pip_of(est) == ["azureml-defaults", "numpy==1.26.4", "scipy>=1"]
    assert list(est.conda_dependencies.pip_options) == ["--pre"]
    (tmp_path / "env.yml").write_text("dependencies:\n- python=3.11\n- numpy\n")
    est = Estimator(source, compute_target="local", conda_dependencies_file_path="env.yml")
    assert list(est.conda_dependencies.conda_packages) == ["python=3.11", "numpy"]
    with pytest.raises(UserErrorException, match=r"Cannot read the requirements /.*/missing\.txt"):
        Estimator(source, compute_target="local", pip_requirements_file_path="missing.txt")


def test_images_and_the_rest(source):
    est = PyTorch(
        source,
        compute_target="local",
        entry_script="train.py",
        custom_docker_base_image="image:1",
        user_managed=True,
        shm_size="4g",
        environment_variables={"A": 1},
        max_run_duration_seconds=60,
    )
    environment = est.run_config.environment
    assert (environment.docker.enabled, environment.docker.base_image) == (True, "image:1")
    assert environment.python.user_managed_dependencies is True
    assert pip_of(est) == ["azureml-defaults"]
    assert (environment.docker.shm_size, est.run_config.docker.shm_size) == ("4g", "4g")
    assert spec_of(est).variables == {"NCCL_TREE_THRESHOLD": "0", "A": "1"}
    assert spec_of(est).max_duration_s == 60
    plain = Estimator(source, compute_target="local", entry_script="train.py", use_gpu=True)
    assert plain.run_config.environment.docker.enabled is False
    assert "cuda" in plain.run_config.environment.docker.base_image
    assert spec_of(plain).max_duration_s == 2_592_000


def test_what_is_overridden_at_submit_holds_for_that_submit(source):
    est = Estimator(source, compute_target="local", entry_script="train.py", script_params={"--a": 1, "--b": 2})
    assert spec_of(est, script_params={"--b": 3, "--c": ""}).arguments == ("--a", "1", "--b", "3", "--c")
    assert spec_of(est).arguments == ("--a", "1", "--b", "2")
    assert spec_of(est, inputs=[], script_params=None).arguments == ("--a", "1", "--b", "2")
    with pytest.raises(TrainingException, match=r"node_count cannot be given to submit\(\)"):
        spec_of(est, node_count=2)
    with pytest.raises(UserErrorException, match="inputs has a object"):
        spec_of(est, inputs=[object()])


def test_parameters_that_are_overridden_leave_where_to_resume_from(source):
    record = DatastoreRecord("w", "store", DatastoreKind.BLOB, "ada", 1)
    checkpoint = DataPath(datastore_of(SimpleNamespace(_workspace_id_internal="w"), record), "checkpoints")
    est = Estimator(source, compute_target="local", entry_script="train.py", resume_from=checkpoint)
    resumed = ("--resume-from", "$AZUREML_DATAREFERENCE_MODEL_LOCATION")
    assert spec_of(est).arguments == resumed
    assert spec_of(est, script_params={"--a": 1}).arguments == ("--a", "1", *resumed)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ({"custom_docker_image": "new"}, {"custom_docker_base_image": "old"}),
        ({"conda_dependencies_file": "new.yml"}, {"conda_dependencies_file_path": "old.yml"}),
        ({"pip_requirements_file": "new.txt"}, {"pip_requirements_file_path": "old.txt"}),
    ],
)
def test_of_two_names_of_a_parameter_the_newer_counts(newer, older, source, tmp_path):
    (tmp_path / "new.yml").write_text("dependencies:\n- python=3.11\n- new\n")
    (tmp_path / "new.txt").write_text("new\n")
    with pytest.warns(UserWarning, match=f"{next(iter(older))} has no effect here"):
        est = Estimator(source, compute_target="local", entry_script="train.py", **newer, **older)
    assert "new" in repr(est.run_config.environment)
    assert "old" not in repr(est.run_config.environment)


def test_what_is_changed_before_submit_counts(source):
    est = Estimator(source, compute_target="local", entry_script="train.py")
    est.run_config.arguments = ["--x", 1]
    est.run_config.environment.python.relax_pins = True
    est.conda_dependencies.add_conda_package("numpy")
    spec = spec_of(est)
    assert spec.arguments == ("--x", "1")
    assert spec.environment.definition["python"]["relaxPins"] is True
    assert "numpy" in spec.environment.definition["python"]["condaDependencies"]["dependencies"]


def test_a_script_that_is_not_there_is_told_before_submit(source):
    with pytest.raises(ExperimentExecutionException, match=r"missing\.py is not in the source_directory"):
        spec_of(Estimator(source, compute_target="local", entry_script="missing.py"))
    with pytest.raises(UserErrorException, match="entry_script"):
        spec_of(Estimator(source, compute_target="local"))


def test_deprecation_is_logged_once_and_never_raised(source, caplog):
    class Odd(Estimator):
        pass

    with caplog.at_level(logging.WARNING, logger="azureml"):
        for _ in range(2):
            Odd(source, compute_target="local")
    (said,) = [it.message for it in caplog.records if it.message.startswith("Odd ")]
    assert said == (
        "Odd is an estimator, and those are deprecated in the SDK: ScriptRunConfig with an Environment does the same. "
        "It goes on working here."
    )


def test_the_star_of_the_module_is_the_estimator():
    found: dict[str, object] = {}
    exec("from azureml.train.estimator import *", found)
    assert found["Estimator"] is Estimator
    assert importlib.import_module("azureml.train.dnn").TensorFlow is TensorFlow
    assert importlib.import_module("azureml.train.sklearn").SKLearn is SKLearn
