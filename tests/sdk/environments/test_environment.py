import json

import pytest

from trainyard.sdk.environments.container_registry import ContainerRegistry
from trainyard.sdk.environments.environment import Environment, EnvironmentDefinition
from trainyard.sdk.environments.environment_build import image_details
from trainyard.sdk.environments.environment_sections import DockerBuildContext, RSection
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.submitting.submit import checked, run_spec


def test_the_defaults_are_the_sdks():
    made = Environment("mine")
    assert made.python.interpreter_path == "python"
    assert made.python.user_managed_dependencies is False
    assert made.docker.enabled is False
    assert made.environment_variables == {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}
    assert str(made) == "Environment(Name: mine, Version: None)"
    assert json.loads(repr(made))["python"]["interpreterPath"] == "python"


def test_a_name_is_needed():
    with pytest.raises(UserErrorException, match="needs a name"):
        Environment("")


def test_a_clone_has_no_version_and_is_its_own():
    made = Environment("mine")
    made.version = "3"
    twin = made.clone("twin")
    twin.python.conda_dependencies.add_pip_package("numpy")
    assert (twin.name, twin.version) == ("twin", None)
    assert list(made.python.conda_dependencies.pip_packages) == ["azureml-defaults"]


def test_saved_with_its_conda_file_and_loaded_with_what_was_edited_there(tmp_path):
    made = Environment("mine")
    made.docker.base_dockerfile = "FROM base\nRUN step\n"
    made.save_to_directory(str(tmp_path / "env"))
    conda = tmp_path / "env" / "conda_dependencies.yml"
    conda.write_text(conda.read_text().replace("python=3.6.2", "python=3.11"))
    again = Environment.load_from_directory(str(tmp_path / "env"))
    assert again.python.conda_dependencies.get_python_version() == "3.11"
    assert again.docker.base_image is None
    assert again.docker.base_dockerfile == "FROM base\nRUN step\n"
    with pytest.raises(FileExistsError):
        made.save_to_directory(str(tmp_path / "env"))


def test_an_image_and_a_dockerfile_exclude_each_other():
    made = Environment("mine")
    made.docker.base_image = "image:1"
    with pytest.warns(UserWarning, match="base_image was set and is cleared"):
        made.docker.base_dockerfile = "FROM base\nRUN step"
    assert made.docker.base_image is None


def test_an_image_without_packages_brings_its_own_python():
    assert Environment.from_docker_image("mine", "image:1").python.user_managed_dependencies is True


def test_a_conda_file_without_python_gets_the_default_with_a_warning(tmp_path):
    (tmp_path / "env.yml").write_text("dependencies:\n- numpy\n")
    with pytest.warns(UserWarning, match="names no Python version"):
        made = Environment.from_conda_specification("mine", str(tmp_path / "env.yml"))
    assert made.python.conda_dependencies.get_python_version() == "3.6.2"


def test_a_password_of_a_registry_does_not_travel():
    made = Environment("mine")
    made.docker.base_image_registry.password = "hunter2"
    assert "hunter2" not in repr(made)


def test_the_json_of_it_is_the_sdks():
    assert json.loads(repr(Environment("mine"))) == {
        "name": "mine",
        "version": None,
        "python": {
            "interpreterPath": "python",
            "userManagedDependencies": False,
            "condaDependencies": {
                "name": "project_environment",
                "dependencies": ["python=3.6.2", {"pip": ["azureml-defaults"]}],
                "channels": ["anaconda", "conda-forge"],
            },
            "baseCondaEnvironment": None,
        },
        "environmentVariables": {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"},
        "docker": {
            "baseImage": "mcr.microsoft.com/azureml/intelmpi2018.3-ubuntu16.04",
            "platform": {"os": "Linux", "architecture": "amd64"},
            "baseDockerfile": None,
            "baseImageRegistry": {"address": None, "username": None, "password": None},
            "enabled": False,
            "arguments": [],
        },
        "spark": {"repositories": [], "packages": [], "precachePackages": True},
        "inferencingStackVersion": None,
    }
    assert repr(Environment("mine")).startswith('{\n    "name": "mine",\n')


def test_everything_set_on_it_comes_back_from_its_json(tmp_path):
    made = Environment("mine")
    made.python.relax_pins = True
    made.python.shims = ["numpy"]
    made.docker.shm_size = "4g"
    made.docker.shared_volumes = False
    made.docker.arguments = ["--cpus", "2"]
    made.inferencing_stack_version = "latest"
    made.spark.repositories = ["there"]
    made.databricks.pypi_libraries = [{"package": "six"}]
    made.r = RSection(r_version="4.0", cran_packages=["dplyr"])
    made.docker.build_context = DockerBuildContext("git", "https://host/repo.git")
    again = Environment.from_definition(json.loads(repr(made)))
    assert repr(again) == repr(made)
    assert (again.python.relax_pins, again.python.shims) == (True, "numpy")
    assert again.docker.shared_volumes is False
    assert (again.r.r_version, again.r.cran_packages) == ("4.0", ["dplyr"])
    assert again.databricks.pypi_libraries == [{"package": "six"}]
    assert (again.docker.base_image, again.docker.build_context.dockerfile_path) == (None, "Dockerfile")
    made.save_to_directory(str(tmp_path / "env"))
    made.save_to_directory(str(tmp_path / "env"), overwrite=True)
    assert repr(Environment.load_from_directory(str(tmp_path / "env"))) == repr(made)


def test_a_registry_may_be_its_address_alone():
    made = Environment("mine")
    made.docker.base_image_registry = "registry.example"
    assert made.to_definition()["docker"]["baseImageRegistry"]["address"] == "registry.example"
    made.docker.base_image_registry = None
    assert made.docker.base_image_registry.address is None


def test_a_path_of_no_dockerfile_is_not_taken_for_one(tmp_path):
    with pytest.raises(UserErrorException, match="is no Dockerfile: no file is there"):
        Environment.from_dockerfile("mine", str(tmp_path / "Dockerfile"))
    assert Environment.from_dockerfile("mine", "FROM base").docker.base_dockerfile == "FROM base"


def test_packages_are_no_path():
    made = Environment("mine")
    with pytest.raises(UserErrorException, match=r"is a CondaDependencies, not 'environment\.yml'"):
        made.python.conda_dependencies = "environment.yml"
    made.python.conda_dependencies = None
    assert made.to_definition()["python"]["condaDependencies"] is None


def test_nothing_to_load(tmp_path):
    with pytest.raises(FileNotFoundError):
        Environment.load_from_directory(str(tmp_path / "nowhere"))


def test_image_dockerfile_and_context_exclude_one_another(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM base\n")
    docker = Environment("mine").docker
    docker.base_dockerfile = str(tmp_path / "Dockerfile")
    assert (docker.base_image, docker.base_dockerfile) == (None, "FROM base\n")
    with pytest.warns(UserWarning, match="base_dockerfile was set and is cleared, because build_context"):
        docker.build_context = DockerBuildContext.from_local_directory(None, str(tmp_path))
    assert (docker.base_image, docker.base_dockerfile) == (None, None)
    with pytest.warns(UserWarning, match="build_context was set and is cleared, because base_image"):
        docker.base_image = "image:2"
    assert docker.build_context is None
    warned = pytest.warns(UserWarning, match="base_image was set and is cleared, because base_dockerfile")
    with open(tmp_path / "Dockerfile") as file, warned:
        docker.base_dockerfile = file
    assert docker.base_dockerfile == "FROM base\n"
    with pytest.raises(UserErrorException, match="There is no other in"):
        DockerBuildContext.from_local_directory(None, str(tmp_path), "other")


def test_an_image_with_packages_has_them_built(tmp_path):
    (tmp_path / "r.txt").write_text("numpy\n")
    (tmp_path / "env.yml").write_text("dependencies:\n- python=3.11\n")
    registry = ContainerRegistry()
    registry.address = "here"
    made = Environment.from_docker_image("mine", "image:1", registry, pip_requirements=str(tmp_path / "r.txt"))
    assert made.python.user_managed_dependencies is False
    assert made.docker.base_image_registry.address == "here"
    made = Environment.from_dockerfile("mine", "FROM base\nRUN x", conda_specification=str(tmp_path / "env.yml"))
    assert made.python.conda_dependencies.get_python_version() == "3.11"
    assert image_details(None, made).dockerfile == "FROM base\nRUN x"
    with pytest.raises(UserErrorException, match="not both"):
        Environment.from_docker_image("mine", "i", conda_specification="a", pip_requirements="b")
    context = DockerBuildContext("git", "https://host/repo.git")
    made = Environment.from_docker_build_context("mine", context)
    assert made.python.user_managed_dependencies is True


def test_pip_requirements_with_a_version_of_pip(tmp_path):
    (tmp_path / "r.txt").write_text("# what\n--pre\nnumpy==1.26.4  # why\n\n")
    made = Environment.from_pip_requirements("mine", str(tmp_path / "r.txt"), pip_version="20.0.2")
    conda = made.python.conda_dependencies
    assert (list(conda.pip_packages), list(conda.pip_options)) == (["numpy==1.26.4"], ["--pre"])
    assert list(conda.conda_packages) == ["python=3.6.2", "pip=20.0.2"]


def test_an_environment_that_conda_made(tmp_path, monkeypatch):
    conda = tmp_path / "conda"
    conda.write_text(
        "#!/bin/sh\n"
        '[ "$*" = "env export --no-builds --name theirs" ] || { echo "no such environment" >&2; exit 1; }\n'
        "printf 'name: theirs\\nchannels:\\n- defaults\\ndependencies:\\n- python=3.11.7\\n- numpy=1.26.4\\n"
        "prefix: /opt/theirs\\n'\n"
    )
    conda.chmod(0o755)
    monkeypatch.delenv("CONDA_EXE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    made = Environment.from_existing_conda_environment("mine", "theirs")
    assert list(made.python.conda_dependencies.conda_packages) == ["python=3.11.7", "numpy=1.26.4"]
    with pytest.raises(UserErrorException, match="no such environment"):
        Environment.from_existing_conda_environment("mine", "other")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(UserErrorException, match="There is no conda program"):
        Environment.from_existing_conda_environment("mine", "theirs")


def test_variables_of_a_conda_file_reach_the_job_beneath_the_environments_own(tmp_path):
    (tmp_path / "env.yml").write_text("variables:\n  COLOUR: green\n  SIZE: 3\ndependencies:\n- python=3.11\n")
    (tmp_path / "train.py").write_text("")
    made = Environment.from_conda_specification("mine", str(tmp_path / "env.yml"))
    made.environment_variables = {"COLOUR": "red"}

    def variables():
        config = ScriptRunConfig(str(tmp_path), "train.py", environment=made)
        return run_spec(checked(config)[0], "f" * 64, {}).environment.variables

    assert variables() == {"COLOUR": "red", "SIZE": "3"}
    made.python.user_managed_dependencies = True  # conda's part means nothing then
    assert variables() == {"COLOUR": "red"}


def test_a_password_of_a_registry_is_said_to_have_no_effect(tmp_path):
    (tmp_path / "train.py").write_text("")
    made = Environment("mine")
    made.docker.base_image_registry.address, made.docker.base_image_registry.password = "host:5000", "hunter2"
    with pytest.warns(UserWarning, match="the password has no effect, .* `docker login host:5000`") as told:
        checked(ScriptRunConfig(str(tmp_path), "train.py", environment=made))
    assert "hunter2" not in str(told[0].message)


def test_the_name_of_2018():
    made = EnvironmentDefinition()
    assert (isinstance(made, Environment), made.name) == (True, "default-environment")
    assert Environment.from_definition(made.to_definition()).name == "default-environment"
