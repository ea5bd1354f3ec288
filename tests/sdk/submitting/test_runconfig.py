import pytest

from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import RunConfigurationException, UserErrorException
from trainyard.sdk.submitting.run_definition import to_definition
from trainyard.sdk.submitting.runconfig import RunConfiguration
from trainyard.sdk.submitting.runconfig_parts import (
    DataReferenceConfiguration,
    DockerConfiguration,
    MpiConfiguration,
    PyTorchConfiguration,
    TensorflowConfiguration,
)
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig

KEYS = """script command useAbsolutePath arguments sourceDirectoryDataStore framework communicator target dataReferences
data outputData datacaches jobName maxRunDurationSeconds nodeCount priority credentialPassthrough identity
environment history spark parallelTask amlCompute tensorflow mpi pyTorch hdi docker environmentVariables"""


def test_the_defaults_are_the_sdks():
    made = RunConfiguration()
    assert (made.target, made.framework, made.communicator, made.node_count) == ("local", "Python", "None", 1)
    assert made.history.output_collection is True
    assert made.history.directories_to_watch == ["logs"]
    assert made.history.snapshot_project is True
    assert made.environment.name == "default-environment"
    assert RunConfiguration(framework="python").framework == "Python"
    assert TensorflowConfiguration().parameter_server_count == 1


def test_the_definition_has_the_sdks_keys():
    assert sorted(to_definition(RunConfiguration())) == sorted(KEYS.split())


def test_saved_and_loaded_again(tmp_path):
    made = RunConfiguration("train.py", ["--rate", 0.1, "--name", "3"])
    made.target = "cpu-cluster"
    made.node_count = 2
    made.environment.python.user_managed_dependencies = True
    made.environment_variables = {"SEED": "7"}
    made.data_references["input"] = DataReferenceConfiguration("store", path_on_datastore="a/b")
    made.save(str(tmp_path), "mine")
    assert (tmp_path / ".azureml" / "mine.runconfig").is_file()
    again = RunConfiguration.load(str(tmp_path), "mine")
    assert to_definition(again) == to_definition(made)
    assert again.arguments == ["--rate", 0.1, "--name", "3"]
    RunConfiguration.delete(str(tmp_path), "mine")
    with pytest.raises(UserErrorException, match="No run configuration 'mine'"):
        RunConfiguration.load(str(tmp_path), "mine")


@pytest.mark.parametrize("named", ["aml_config/packages.yml", "packages.yml"])
def test_the_conda_file_that_one_names_is_that_of_its_project(tmp_path, named):
    """As projects of 2018 have it. Called from anywhere."""
    (tmp_path / "aml_config").mkdir()
    (tmp_path / "aml_config" / "packages.yml").write_text("dependencies:\n- python=3.11\n- numpy\n")
    (tmp_path / "aml_config" / "mine.runconfig").write_text(
        f"script: train.py\nenvironment:\n  python:\n    condaDependenciesFile: {named}\n"
    )
    python = RunConfiguration.load(str(tmp_path), "mine").environment.python
    assert list(python.conda_dependencies.conda_packages) == ["python=3.11", "numpy"]


def test_the_environment_may_have_a_file_of_its_own(tmp_path):
    made = RunConfiguration()
    made.environment = Environment("apart")
    made.save(str(tmp_path), "mine", separate_environment_yaml=True)
    assert RunConfiguration.load(str(tmp_path / ".azureml" / "mine.runconfig")).environment.name == "apart"


@pytest.mark.parametrize(
    ("job", "framework", "communicator", "nodes"),
    [
        (MpiConfiguration(2, 3), "Python", "IntelMpi", 3),
        (TensorflowConfiguration(2, 1), "TensorFlow", "ParameterServer", 2),
        (PyTorchConfiguration("gloo", node_count=2), "PyTorch", "Gloo", 2),
    ],
)
def test_a_distributed_job_sets_framework_and_nodes(job, framework, communicator, nodes):
    config = ScriptRunConfig(".", "train.py", distributed_job_config=job).run_config
    assert (config.framework, config.communicator, config.node_count) == (framework, communicator, nodes)


def test_other_distributed_jobs_and_backends_are_refused():
    with pytest.raises(RunConfigurationException, match="use MpiConfiguration"):
        ScriptRunConfig(".", "train.py", distributed_job_config=object())
    with pytest.raises(RunConfigurationException, match="'Nccl' or 'Gloo'"):
        PyTorchConfiguration("mpi")


def test_a_run_config_counts_before_the_other_parameters():
    given = RunConfiguration()
    with pytest.warns(UserWarning, match="compute_target is ignored"):
        made = ScriptRunConfig(".", "train.py", run_config=given, compute_target="other")
    assert made.run_config is given
    assert made.run_config.target == "local"


def test_a_script_and_a_command_exclude_each_other():
    with pytest.raises(UserErrorException, match="not both"):
        ScriptRunConfig(".", script="a.py", command=["ls"])


def test_two_configurations_share_no_list():
    DockerConfiguration().arguments.append("x")
    assert DockerConfiguration().arguments == []
    assert ScriptRunConfig(".", "a.py").run_config.max_run_duration_seconds == 2592000


def test_a_communicator_that_is_set_later_is_checked_too():
    config = RunConfiguration()
    with pytest.raises(RunConfigurationException, match=r"communicator 'foo' is not known\. Use one of None, Para"):
        config.communicator = "foo"
    with pytest.raises(RunConfigurationException, match="framework 'torch' is not known"):
        config.framework = "torch"
    config.communicator, config.framework = "nccl", "pytorch"
    assert (config.communicator, config.framework) == ("Nccl", "PyTorch")
    config.communicator = None
    assert config.communicator == "None"
