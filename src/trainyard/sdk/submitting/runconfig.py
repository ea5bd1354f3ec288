"""RunConfiguration: everything about how a script runs besides the script, and its .runconfig file."""

from __future__ import annotations

import os
from typing import Any

from trainyard.contract.data import RunInput, RunOutput
from trainyard.contract.runs import LOCAL_TARGET
from trainyard.sdk.effects import tell_once
from trainyard.sdk.environments.conda_dependencies import CondaDependencies
from trainyard.sdk.environments.environment import DEFAULT_NAME, Environment
from trainyard.sdk.errors import RunConfigurationException, UserErrorException
from trainyard.sdk.plain_yaml import YamlError, dumps, loads
from trainyard.sdk.submitting.runconfig_parts import (
    AmlComputeConfiguration,
    ContainerInstanceConfiguration,
    DataReferenceConfiguration,
    DockerConfiguration,
    HdiConfiguration,
    HistoryConfiguration,
    MpiConfiguration,
    ParallelTaskConfiguration,
    PyTorchConfiguration,
    SourceDirectoryDataStore,
    SparkConfiguration,
    TensorflowConfiguration,
)

_FRAMEWORKS = {name.lower(): name for name in ("Python", "PySpark", "Cntk", "TensorFlow", "PyTorch")}
_COMMUNICATORS = {
    name.lower(): name for name in ("None", "ParameterServer", "Gloo", "Mpi", "Nccl", "IntelMpi", "OpenMpi")
}
_EXTENSION = ".runconfig"
_FOLDERS = (".azureml", "aml_config")  # of a project, where such files are


class RunConfiguration:
    def __init__(
        self,
        script: str | None = None,
        arguments: list[Any] | None = None,
        framework: str | None = None,
        communicator: str | None = None,
        conda_dependencies: CondaDependencies | None = None,
        command: list[Any] | str | None = None,
    ) -> None:
        self.script = script
        self.command = command
        self.arguments: list[Any] = list(arguments) if arguments is not None else []
        self.framework = framework or "Python"
        self.communicator = communicator or "None"
        self._target: str | None = LOCAL_TARGET
        self._auto_prepare_environment = True
        self.max_run_duration_seconds: int | None = None
        self.node_count = 1
        self.priority: int | None = None
        self.environment = Environment(DEFAULT_NAME)
        self.environment_variables: dict[str, str] = {}
        self.history = HistoryConfiguration()
        self.spark = SparkConfiguration()
        self.amlcompute = AmlComputeConfiguration()
        self.container_instance = ContainerInstanceConfiguration()
        self.tensorflow = TensorflowConfiguration()
        self.mpi = MpiConfiguration()
        self.pytorch = PyTorchConfiguration()
        self.paralleltask = ParallelTaskConfiguration()
        self.hdi = HdiConfiguration()
        self.docker = DockerConfiguration()
        self.data_references: dict[str, DataReferenceConfiguration] = {}
        self.data: dict[str, Any] = {}
        self.output_data: dict[str, Any] = {}
        self.datacaches: list[Any] = []
        self._run_inputs: tuple[RunInput, ...] = ()  # of a checked configuration: what the three above say
        self._run_outputs: tuple[RunOutput, ...] = ()
        self.source_directory_data_store: SourceDirectoryDataStore | None = None
        self.credential_passthrough = False
        self.identity: Any = None
        if conda_dependencies is not None:
            self.environment.python.conda_dependencies = conda_dependencies

    @property
    def target(self) -> str | None:
        """The compute target's name; a ComputeTarget may be set too."""
        return self._target

    @target.setter
    def target(self, target: Any) -> None:
        self._target = target_name(target)

    @property
    def framework(self) -> str:
        return self._framework

    @framework.setter
    def framework(self, name: str) -> None:
        self._framework = _known(name, _FRAMEWORKS, "framework")

    @property
    def communicator(self) -> str:
        """How the run's processes work together: 'None', 'ParameterServer', 'OpenMpi', 'IntelMpi', 'Gloo' or 'Nccl'."""
        return self._communicator

    @communicator.setter
    def communicator(self, name: str | None) -> None:
        self._communicator = _known(name or "None", _COMMUNICATORS, "communicator")

    @property
    def auto_prepare_environment(self) -> bool:
        return self._auto_prepare_environment

    @auto_prepare_environment.setter
    def auto_prepare_environment(self, value: bool) -> None:
        tell_once("RunConfiguration: auto_prepare_environment has no effect; an environment is always prepared.")
        self._auto_prepare_environment = value

    def save(self, path: str | None = None, name: str | None = None, separate_environment_yaml: bool = False) -> None:
        """Writes `<name>.runconfig` below `path` (in .azureml, or aml_config where that is), or `path` itself."""
        from trainyard.sdk.submitting.run_definition import to_definition

        file = _file_to_write(path, name)
        definition = to_definition(self)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        if separate_environment_yaml:
            beside = os.path.join(os.path.dirname(file), "environment.yml")
            with open(beside, "w", encoding="utf-8") as written:
                written.write(dumps(definition["environment"]))
            definition["environment"] = os.path.basename(beside)
        with open(file, "w", encoding="utf-8") as written:
            written.write(dumps(definition))

    @staticmethod
    def load(path: str, name: str | None = None) -> RunConfiguration:
        """Reads a .runconfig file: `path` itself, or `name` in `path`, its .azureml or its aml_config."""
        from trainyard.sdk.submitting.run_definition import from_definition

        file = _file_to_read(path, name)
        definition = _read_yaml(file)
        if isinstance(environment := definition.get("environment"), str):
            definition["environment"] = _read_yaml(os.path.join(os.path.dirname(file), environment))
        _find_conda_file(definition, os.path.dirname(file))
        return from_definition(definition)

    @staticmethod
    def delete(path: str, name: str) -> None:
        os.remove(_file_to_read(path, name))


def target_name(target: Any) -> str | None:
    if target is None or isinstance(target, str):
        return target
    name = getattr(target, "name", None)
    if not isinstance(name, str):
        raise UserErrorException(f"A compute target is a name or a ComputeTarget, not {type(target).__name__}.")
    return name


def _known(value: str, table: dict[str, str], what: str) -> str:
    if not isinstance(value, str) or value.lower() not in table:
        raise RunConfigurationException(f"{what} {value!r} is not known. Use one of {', '.join(table.values())}.")
    return table[value.lower()]


def _file_to_write(path: str | None, name: str | None) -> str:
    path = os.path.abspath(path or os.curdir)
    if path.endswith(_EXTENSION):
        return path
    if not name:
        raise UserErrorException("save() needs a name: run_config.save(path='.', name='my-cluster').")
    folder = os.path.join(path, "aml_config")
    return os.path.join(folder if os.path.isdir(folder) else os.path.join(path, ".azureml"), name + _EXTENSION)


def _file_to_read(path: str, name: str | None) -> str:
    if os.path.isfile(path):
        return os.path.abspath(path)
    for folder in (*_FOLDERS, ""):
        for ending in (_EXTENSION, ""):
            candidate = os.path.join(os.path.abspath(path), folder, (name or "") + ending)
            if name and os.path.isfile(candidate):
                return candidate
    raise UserErrorException(
        f"No run configuration {name!r} in {os.path.abspath(path)} (looked there, in .azureml and in aml_config). "
        "run_config.save(path, name) writes one."
    )


def _find_conda_file(definition: dict[str, Any], folder: str) -> None:
    """The conda file that a .runconfig in `folder` names is named from its project on, wherever one calls from."""
    python = (definition.get("environment") or {}).get("python") or {}
    if not (named := python.get("condaDependenciesFile")):
        return
    project = os.path.dirname(folder) if os.path.basename(folder) in _FOLDERS else folder
    found = (path for place in (project, folder) if os.path.isfile(path := os.path.join(place, named)))
    python["condaDependenciesFile"] = next(found, named)


def _read_yaml(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8-sig") as opened:
            found = loads(opened.read())
    except (OSError, YamlError) as error:
        raise UserErrorException(f"{file} cannot be read: {error}. Correct it, or save it anew.", error) from error
    if not isinstance(found, dict):
        raise UserErrorException(f"{file} is not a run configuration. Correct it, or save it anew.")
    return found
