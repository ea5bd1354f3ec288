"""An environment as a user describes it: Python packages, variables and a base image. A local object until it is
registered, built or used."""

from __future__ import annotations

import copy
import json
import os
from typing import TYPE_CHECKING, Any

from trainyard.sdk.effects import tell_once
from trainyard.sdk.environments.conda_dependencies import CONDA_FILE_NAME, PYTHON_DEFAULT_VERSION, CondaDependencies
from trainyard.sdk.environments.container_registry import ContainerRegistry
from trainyard.sdk.environments.environment_sections import (
    DatabricksSection,
    DockerBuildContext,
    DockerSection,
    PythonSection,
    RSection,
    SparkSection,
    text_of,
)
from trainyard.sdk.environments.requirements_file import requirements_of
from trainyard.sdk.errors import UserErrorException

if TYPE_CHECKING:
    from trainyard.sdk.environments.environment_build import DockerImageDetails, ImageBuildDetails
    from trainyard.sdk.workspace import Workspace

DEFAULT_NAME = "default-environment"
_DEFINITION_FILE = "azureml_environment.json"
_DOCKERFILE = "BaseDockerfile"


class Environment:
    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str) or not name.strip():
            raise UserErrorException(f"An environment needs a name, not {name!r}. Write Environment('my-environment').")
        self.name = name
        self.version: str | None = None
        self.python = PythonSection()
        self.environment_variables: dict[str, str] = {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}
        self.docker = DockerSection()
        self.spark = SparkSection()
        self.databricks = DatabricksSection()
        self.r: RSection | None = None
        self.inferencing_stack_version: str | None = None
        if unknown := sorted(key for key in kwargs if not key.startswith("_")):
            raise UserErrorException(f"Environment() has no parameter {unknown[0]!r}. Set its attributes instead.")

    @staticmethod
    def from_conda_specification(name: str, file_path: str) -> Environment:
        made = Environment(name)
        made.python.conda_dependencies = _conda_file(file_path)
        return made

    @staticmethod
    def from_pip_requirements(name: str, file_path: str, pip_version: str | None = None) -> Environment:
        made = Environment(name)
        made.python.conda_dependencies = _pip_file(file_path, pip_version)
        return made

    @staticmethod
    def from_docker_image(
        name: str,
        image: str,
        container_registry: ContainerRegistry | None = None,
        conda_specification: str | None = None,
        pip_requirements: str | None = None,
    ) -> Environment:
        made = _with_packages(Environment(name), conda_specification, pip_requirements)
        made.docker.base_image = image
        if container_registry is not None:
            made.docker.base_image_registry = container_registry
        return made

    @staticmethod
    def from_dockerfile(
        name: str, dockerfile: Any, conda_specification: str | None = None, pip_requirements: str | None = None
    ) -> Environment:
        made = _with_packages(Environment(name), conda_specification, pip_requirements)
        made.docker.base_dockerfile = dockerfile
        return made

    @staticmethod
    def from_docker_build_context(name: str, docker_build_context: DockerBuildContext) -> Environment:
        made = Environment(name)
        made.docker.build_context = docker_build_context
        made.python.user_managed_dependencies = True  # the image brings its own Python
        return made

    @staticmethod
    def from_existing_conda_environment(name: str, conda_environment_name: str) -> Environment:
        """What conda says is in one of this machine's environments."""
        from trainyard.sdk.environments.conda_export import exported

        made = Environment(name)
        made.python.conda_dependencies = exported(conda_environment_name)
        return made

    # Kept by the workspace

    @staticmethod
    def get(workspace: Workspace, name: str, version: str | int | None = None, label: str | None = None) -> Environment:
        """A registered or curated environment, the latest without a version. Raises Exception if there is none."""
        from trainyard.sdk.environments.environment_registry import get

        return get(workspace, name, version, label)

    def register(self, workspace: Workspace) -> Environment:
        """Keeps it in the workspace. The answer is a new object that has the version."""
        from trainyard.sdk.environments.environment_registry import register

        return register(workspace, self)

    @staticmethod
    def label(workspace: Workspace, name: str, version: str | int, labels: list[str]) -> None:
        """Gives a version names of its own, which get(label=...) finds; a label is on one version at a time."""
        from trainyard.sdk.environments.environment_registry import set_labels

        set_labels(workspace, name, version, labels)

    @staticmethod
    def add_private_pip_wheel(workspace: Workspace, file_path: str, exist_ok: bool = False) -> str:
        """Keeps a wheel for the workspace. The answer can be given to CondaDependencies.add_pip_package."""
        from trainyard.sdk.environments.environment_registry import add_wheel

        return add_wheel(workspace, file_path, exist_ok)

    def build(self, workspace: Workspace, image_build_compute: Any = None) -> ImageBuildDetails:
        """Starts building it where runs find it; the answer can be waited for."""
        from trainyard.sdk.environments.environment_build import start

        return start(workspace, self, image_build_compute)

    def build_local(self, workspace: Workspace, platform: Any = None, **kwargs: Any) -> str:
        """Builds it and shows the build as it goes on; answers what the build said."""
        from trainyard.sdk.environments.environment_build import build_here

        return build_here(workspace, self, platform, **kwargs)

    def get_image_details(self, workspace: Workspace) -> DockerImageDetails:
        from trainyard.sdk.environments.environment_build import image_details

        return image_details(workspace, self)

    # Copies and files

    def clone(self, new_name: str) -> Environment:
        """The same definition under a new name, without a version."""
        if not isinstance(new_name, str) or not new_name.strip():
            raise UserErrorException("clone() needs the name of the copy: env.clone('my-copy').")
        made = copy.deepcopy(self)
        made.name, made.version = new_name, None
        return made

    def save_to_directory(self, path: str, overwrite: bool = False) -> None:
        """Writes azureml_environment.json and, beside it, the conda file and the Dockerfile where there are any."""
        if os.path.exists(path) and not overwrite:
            raise FileExistsError(f"{path} exists. Choose another folder, or pass overwrite=True.")
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, _DEFINITION_FILE), "w", encoding="utf-8") as file:
            json.dump(self.to_definition(), file, indent=4)
        if self.python.conda_dependencies is not None and not self.python.user_managed_dependencies:
            with open(os.path.join(path, CONDA_FILE_NAME), "w", encoding="utf-8") as file:
                file.write(self.python.conda_dependencies.serialize_to_string())
        if self.docker.base_dockerfile:
            with open(os.path.join(path, _DOCKERFILE), "w", encoding="utf-8") as file:
                file.write(self.docker.base_dockerfile)

    @staticmethod
    def load_from_directory(path: str) -> Environment:
        """What save_to_directory wrote; the conda file and the Dockerfile beside it count, edited or not.
        Raises FileNotFoundError."""
        with open(os.path.join(path, _DEFINITION_FILE), encoding="utf-8") as file:
            made = Environment.from_definition(json.load(file))
        conda, dockerfile = os.path.join(path, CONDA_FILE_NAME), os.path.join(path, _DOCKERFILE)
        if os.path.exists(conda):
            made.python.conda_dependencies = CondaDependencies(conda)
        if os.path.exists(dockerfile):
            made.docker.base_dockerfile = text_of(dockerfile)
        return made

    def _variables(self) -> dict[str, str]:
        """What its processes find in their environment: a conda file's `variables`, and ours on top of them."""
        conda = self.python.conda_dependencies
        beneath = (
            (conda.as_dict().get("variables") or {}) if conda and not self.python.user_managed_dependencies else {}
        )
        return {str(key): str(value) for key, value in {**beneath, **self.environment_variables}.items()}

    def to_definition(self) -> dict[str, Any]:
        """The SDK's JSON of it."""
        others = {"databricks": self.databricks.to_definition(), "r": self.r.to_definition() if self.r else None}
        return {
            "name": self.name,
            "version": self.version,
            "python": self.python.to_definition(),
            "environmentVariables": {str(key): str(value) for key, value in self.environment_variables.items()},
            "docker": self.docker.to_definition(),
            "spark": self.spark.to_definition(),
            "inferencingStackVersion": self.inferencing_stack_version,
            **{key: value for key, value in others.items() if value},
        }

    @staticmethod
    def from_definition(said: dict[str, Any]) -> Environment:
        made = Environment(str(said.get("name") or DEFAULT_NAME))
        made.version = said.get("version")
        made.python = PythonSection.from_definition(said.get("python") or {})
        made.environment_variables = dict(said.get("environmentVariables") or {})
        made.docker = DockerSection.from_definition(said.get("docker") or {})
        made.spark = SparkSection.from_definition(said.get("spark") or {})
        made.inferencing_stack_version = said.get("inferencingStackVersion")
        if databricks := said.get("databricks"):
            made.databricks = DatabricksSection.from_definition(databricks)
        if r := said.get("r"):
            made.r = RSection.from_definition(r)
        return made

    def __repr__(self) -> str:
        return json.dumps(self.to_definition(), indent=4)

    def __str__(self) -> str:
        return f"Environment(Name: {self.name}, Version: {self.version})"

    @staticmethod
    def list(workspace: Workspace) -> dict[str, Environment]:  # last: below it `list` would mean this method
        """The latest version of each registered environment, and the curated ones, by name."""
        from trainyard.sdk.environments.environment_registry import find_all

        return find_all(workspace)


def _conda_file(path: str) -> CondaDependencies:
    found = CondaDependencies(path)
    if found.get_python_version() is None:
        tell_once(f"{path} names no Python version; python={PYTHON_DEFAULT_VERSION} is added. Name the one you want.")
        found.set_python_version(PYTHON_DEFAULT_VERSION)
    return found


def _pip_file(path: str, pip_version: str | None) -> CondaDependencies:
    made = CondaDependencies()
    made.set_pip_requirements(requirements_of(path))
    if pip_version:
        made.add_conda_package(f"pip={pip_version}")
    return made


def _with_packages(made: Environment, conda: str | None, pip: str | None) -> Environment:
    if conda and pip:
        raise UserErrorException("Give conda_specification or pip_requirements, not both.")
    if conda:
        made.python.conda_dependencies = _conda_file(conda)
    elif pip:
        made.python.conda_dependencies = _pip_file(pip, None)
    else:
        made.python.user_managed_dependencies = True  # the image brings its own Python
    return made


class EnvironmentDefinition(Environment):
    """As it was called in 2018, when it had no name of its own."""

    def __init__(self) -> None:
        super().__init__(DEFAULT_NAME)
