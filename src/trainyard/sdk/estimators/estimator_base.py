"""What all estimators are: parameters in the words of 2018 and 2020 that become one RunConfiguration, which is then
submitted as every script is."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.contract.runs import MAX_DURATION_S
from trainyard.sdk.computes.transient_cluster import TRANSIENT_TARGET
from trainyard.sdk.effects import note_once
from trainyard.sdk.environments.conda_dependencies import CondaDependencies
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.environments.environment_sections import DEFAULT_GPU_IMAGE
from trainyard.sdk.environments.requirements_file import requirements_of
from trainyard.sdk.errors import TrainingException
from trainyard.sdk.estimators.estimator_parameters import Parameters, pass_over_source_store, source_file
from trainyard.sdk.estimators.frameworks import Framework
from trainyard.sdk.estimators.script_params import flattened
from trainyard.sdk.runs.run_data import add_inputs, resume_arguments
from trainyard.sdk.submitting.distributed_training import Mpi, chosen, put_into
from trainyard.sdk.submitting.runconfig import RunConfiguration, target_name
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig

if TYPE_CHECKING:
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.runs.run import Run

_OVERRIDES = ("script_params", "inputs", "source_directory_data_store")


class MMLBaseEstimator:
    """`run_config` and `conda_dependencies` may be changed until it is submitted."""

    _backends: ClassVar[tuple[str, ...]] = ()  # the words that distributed_backend may be
    _variables: ClassVar[dict[str, str]] = {}  # what every run of it has in its environment
    _framework: ClassVar[Framework | None] = None

    def __init__(self, given: Parameters) -> None:
        note_once(
            f"{type(self).__name__} is an estimator, and those are deprecated in the SDK: ScriptRunConfig with an "
            "Environment does the same. It goes on working here."
        )
        self._source_directory = given.source_directory
        self._script_params = given.script_params or {}
        self._framework_version = self._framework.check(given.framework_version) if self._framework else None
        how = chosen(given, self._backends)
        given.check()
        self._run_config = self._configured(given)
        put_into(self._run_config, how, given)
        if given.environment_definition is None:
            self._bring_framework(given, mpi=isinstance(how, Mpi))

    @property
    def source_directory(self) -> str:
        return str(self._source_directory)

    @property
    def run_config(self) -> RunConfiguration:
        return self._run_config

    @property
    def conda_dependencies(self) -> CondaDependencies | None:
        return self._run_config.environment.python.conda_dependencies

    def _submit_to(
        self, experiment: Experiment, tags: dict[str, Any] | None, parent_run_id: str | None, **kwargs: Any
    ) -> Run:
        """What Experiment.submit calls on whatever it is given."""
        from trainyard.sdk.submitting.submit import submit_script

        return submit_script(experiment, self._script_run_config(**kwargs), tags, parent_run_id)

    def _script_run_config(self, **overrides: Any) -> ScriptRunConfig:
        """The same as a ScriptRunConfig, with what is overridden for this one submit."""
        if unknown := sorted(set(overrides) - set(_OVERRIDES)):
            raise TrainingException(
                f"{', '.join(unknown)} cannot be given to submit(). For an estimator these can: "
                f"{', '.join(_OVERRIDES)}; set the others on the estimator's run_config."
            )
        config = copy.copy(self._run_config)
        if overrides.get("script_params"):
            script_params = {**self._script_params, **overrides.pop("script_params")}
            config.arguments = flattened(script_params) + self._resume_arguments
        overrides.pop("script_params", None)
        pass_over_source_store(overrides.get("source_directory_data_store"))
        config.data_references, config.data = dict(config.data_references), dict(config.data)
        add_inputs(config, overrides.get("inputs"))
        return ScriptRunConfig(self._source_directory, run_config=config)

    def _configured(self, given: Parameters) -> RunConfiguration:
        config = RunConfiguration(script=given.entry_script, arguments=flattened(given.script_params))
        if given.compute_target is not None:
            config.target = target_name(given.compute_target)
        else:
            config.target = TRANSIENT_TARGET
            config.amlcompute.vm_size = given.vm_size
            config.amlcompute.vm_priority = given.vm_priority
            config.amlcompute._cluster_max_node_count = int(given.node_count)
        config.max_run_duration_seconds = given.max_run_duration_seconds or MAX_DURATION_S
        config.environment_variables = {
            str(key): str(value) for key, value in {**self._variables, **(given.environment_variables or {})}.items()
        }
        config.environment = self._environment(given)
        config.docker.use_docker = config.environment.docker.enabled
        if given.shm_size:
            config.docker.shm_size = config.environment.docker.shm_size = given.shm_size
        add_inputs(config, given.inputs)
        self._resume_arguments = resume_arguments(config, given.resume_from)
        config.arguments += self._resume_arguments
        return config

    def _environment(self, given: Parameters) -> Environment:
        if given.environment_definition is not None:
            if not isinstance(given.environment_definition, Environment):
                raise TrainingException(
                    f"environment_definition is a {type(given.environment_definition).__name__}; give an Environment."
                )
            return given.environment_definition
        made = RunConfiguration().environment
        # Without an image of the user's own there is nothing in a container that the node does not have: the images
        # that the SDK took by itself were made for frameworks that are not to be had any more.
        made.docker.enabled = bool(given.use_docker and given.image)
        if given.image:
            made.docker.base_image = given.image
        elif given.use_gpu:
            made.docker.base_image = DEFAULT_GPU_IMAGE
        if given.image_registry_details is not None:
            made.docker.base_image_registry = given.image_registry_details
        made.python.user_managed_dependencies = bool(given.user_managed)
        made.python.conda_dependencies = _packages(given)
        return made

    def _bring_framework(self, given: Parameters, *, mpi: bool) -> None:
        conda = self.conda_dependencies
        if self._framework is None or self._framework_version is None or given.user_managed or conda is None:
            return
        beside = [*conda.conda_packages, *conda.pip_packages]
        lines = self._framework.requirements(self._framework_version, gpu=bool(given.use_gpu), mpi=mpi, beside=beside)
        for line in lines:
            conda.add_pip_package(line)
        self._run_config.environment.python._filled_in = tuple(lines)


class FrameworkEstimator(MMLBaseEstimator):
    """One that brings a framework along."""

    @property
    def framework_version(self) -> str:
        return str(self._framework_version)

    @classmethod
    def get_supported_versions(cls) -> list[str]:
        return list(cls._framework.packages) if cls._framework else []


def _packages(given: Parameters) -> CondaDependencies:
    if given.conda_file:
        return CondaDependencies(source_file(given.source_directory, given.conda_file))
    made = CondaDependencies()
    for package in _listed(given.conda_packages, "conda_packages"):
        made.add_conda_package(package)
    if given.pip_file:
        for line in requirements_of(source_file(given.source_directory, given.pip_file)):
            made.set_pip_option(line) if line.startswith("-") else made.add_pip_package(line)
    for package in _listed(given.pip_packages, "pip_packages"):
        made.set_pip_option(package) if package.startswith("-") else made.add_pip_package(package)
    return made


def _listed(packages: Any, name: str) -> list[str]:
    if packages is None:
        return []
    if isinstance(packages, str) or not all(isinstance(package, str) for package in packages):
        raise TrainingException(f"{name} must be a list of names such as ['numpy'], not {packages!r}.")
    return [package.strip() for package in packages]
