"""ScriptRunConfig: a source directory, what to run in it, and how."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trainyard.contract.runs import MAX_DURATION_S
from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import RunConfigurationException, UserErrorException
from trainyard.sdk.submitting.runconfig import RunConfiguration, target_name
from trainyard.sdk.submitting.runconfig_parts import (
    DockerConfiguration,
    MpiConfiguration,
    PyTorchConfiguration,
    TensorflowConfiguration,
)

if TYPE_CHECKING:
    from trainyard.sdk.environments.environment import Environment
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.runs.run import Run


class ScriptRunConfig:
    MAX_DURATION_SECONDS_DEFAULT = MAX_DURATION_S
    _params: Mapping[str, Any] = MappingProxyType(
        {}
    )  # what the run is given, where that is known apart from its arguments

    def __init__(
        self,
        source_directory: str,
        script: str | None = None,
        arguments: list[Any] | None = None,
        run_config: RunConfiguration | None = None,
        compute_target: Any = None,
        environment: Environment | None = None,
        distributed_job_config: Any = None,
        resume_from: Any = None,
        max_run_duration_seconds: int | None = MAX_DURATION_SECONDS_DEFAULT,
        command: list[Any] | str | None = None,
        docker_runtime_config: DockerConfiguration | None = None,
    ) -> None:
        if script and command:
            raise UserErrorException("Give ScriptRunConfig a script or a command, not both.")
        self.source_directory = source_directory
        self.script = script
        self.command = command
        self.arguments = arguments
        if run_config is not None:
            ignored = {
                "compute_target": compute_target,
                "environment": environment,
                "distributed_job_config": distributed_job_config,
                "docker_runtime_config": docker_runtime_config,
            }
            if names := [name for name, value in ignored.items() if value is not None]:
                tell_once(
                    f"ScriptRunConfig: run_config is given, so {', '.join(names)} is ignored. Set it on run_config."
                )
            self.run_config = run_config
            self._resume(resume_from)
            return
        self.run_config = RunConfiguration()
        if compute_target is not None:
            self.run_config.target = target_name(compute_target)
        if environment is not None:
            self.run_config.environment = environment
        if docker_runtime_config is not None:
            self.run_config.docker = docker_runtime_config
        self.run_config.max_run_duration_seconds = max_run_duration_seconds
        if distributed_job_config is not None:
            _distribute(self.run_config, distributed_job_config)
        self._resume(resume_from)

    @property
    def identity(self) -> Any:
        return self.run_config.identity

    def _resume(self, resume_from: Any) -> None:
        from trainyard.sdk.runs.run_data import resume_arguments

        if more := resume_arguments(self.run_config, resume_from):
            given = self.run_config.arguments if self.arguments is None else self.arguments
            self.arguments = [*given, *more]

    def _submit_to(
        self, experiment: Experiment, tags: dict[str, Any] | None, parent_run_id: str | None, **kwargs: Any
    ) -> Run:
        """What Experiment.submit calls on whatever it is given."""
        from trainyard.sdk.submitting.submit import submit_script

        for name in kwargs:
            tell_once(f"Experiment.submit: {name} has no effect for a ScriptRunConfig.")
        return submit_script(experiment, self, tags, parent_run_id)


def _distribute(config: RunConfiguration, job: Any) -> None:
    if isinstance(job, MpiConfiguration):
        config.framework, config.communicator = "Python", "IntelMpi"
        config.mpi, config.node_count = job, job.node_count
    elif isinstance(job, TensorflowConfiguration):
        config.framework, config.communicator = "TensorFlow", "ParameterServer"
        config.tensorflow, config.node_count = job, job.worker_count
    elif isinstance(job, PyTorchConfiguration):
        config.framework, config.communicator = "PyTorch", job.communication_backend
        config.pytorch, config.node_count = job, job.node_count
    else:
        raise RunConfigurationException(
            f"distributed_job_config is a {type(job).__name__}; use MpiConfiguration, TensorflowConfiguration or "
            "PyTorchConfiguration."
        )
