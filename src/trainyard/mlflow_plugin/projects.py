"""`mlflow.projects.run(uri, backend="azureml", backend_config={...})`: an MLflow project as a run of ours."""

from __future__ import annotations

import logging
import os
from typing import Any

import mlflow
from mlflow.entities import RunStatus
from mlflow.exceptions import ExecutionException
from mlflow.projects.backend.abstract_backend import AbstractBackend
from mlflow.projects.submitted_run import SubmittedRun
from mlflow.projects.utils import PROJECT_ENV_MANAGER, fetch_and_validate_project, load_project

from trainyard.contract.mlflow import service_url
from trainyard.contract.runs import LOCAL_TARGET
from trainyard.contract.states import TERMINAL, RunState
from trainyard.mlflow_plugin.errors import mlflow_errors
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.runs.run import Run
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

_log = logging.getLogger("azureml.mlflow")
_STATUS = {
    RunState.COMPLETED: RunStatus.FINISHED,
    RunState.FAILED: RunStatus.FAILED,
    RunState.CANCELED: RunStatus.KILLED,
}


class Backend(AbstractBackend):
    def run(
        self,
        project_uri: str,
        entry_point: str,
        params: dict[str, Any] | None,
        version: str | None,
        backend_config: dict[str, Any],
        tracking_uri: str,
        experiment_id: str,
    ) -> SubmittedRun:
        params = {**(params or {})}
        folder = fetch_and_validate_project(project_uri, version, entry_point, params)
        project = load_project(folder)
        point = project.get_entry_point(entry_point)
        command = point.compute_command(params, backend_config.get("STORAGE_DIR"))
        known, extra = point.compute_parameters(params, None)
        with mlflow_errors():
            workspace = _workspace(tracking_uri)
            experiment = Experiment(workspace, mlflow.get_experiment(experiment_id).name)
            config = ScriptRunConfig(
                folder,
                command=command,
                compute_target=_told(backend_config, "COMPUTE") or LOCAL_TARGET,
                environment=_environment(project, backend_config),
            )
            config._params = {**known, **extra}
            tags = {"mlflow.project.entryPoint": entry_point, "mlflow.source.name": str(project_uri)}
            submitted = experiment.submit(config, tags={**tags, "mlflow.source.type": "PROJECT"})
        _log.info("=== Submitted run %s: %s ===", submitted.id, command)
        return Submitted(submitted)


class Submitted(SubmittedRun):
    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    @property
    def run_id(self) -> str:
        return self.run.id

    def wait(self) -> bool:
        with mlflow_errors():
            details = self.run.wait_for_completion(show_output=True, raise_on_error=False)
        if details["status"] == RunState.FAILED:
            said = ((details.get("error") or {}).get("error") or {}).get("message", "")
            raise ExecutionException(f"Run (ID '{self.run.id}') failed: {said}")
        return bool(details["status"] == RunState.COMPLETED)

    def get_status(self) -> Any:
        with mlflow_errors():
            state = RunState(self.run.get_status())
        ended = _STATUS[state] if state in TERMINAL else None
        return ended or (RunStatus.RUNNING if state is RunState.RUNNING else RunStatus.SCHEDULED)

    def cancel(self) -> None:
        with mlflow_errors():
            self.run.cancel()

    def __repr__(self) -> str:
        return f"<Trainyard project run {self.run.id}: {self.run.get_status()}>"


def _workspace(tracking_uri: str) -> Workspace:
    """The one that the tracking address is of."""
    from trainyard.sdk.connection import connect

    found = service_url(tracking_uri)
    if found is None:
        raise ExecutionException(
            "backend='azureml' runs projects in the workspace that MLflow tracks to. Call "
            "mlflow.set_tracking_uri(workspace.get_mlflow_tracking_uri()) first."
        )
    connection = connect()
    return Workspace._of(connection, connection.workspaces.get(found[1]))


def _environment(project: Any, config: dict[str, Any]) -> Environment:
    """The project's conda file, or with USE_CONDA false (or env_manager="local") the interpreter that runs this."""
    wants_conda = str(_told(config, "USE_CONDA", default=True)).lower() not in ("false", "0", "no")
    file = project.env_config_path
    image = (project.docker_env or {}).get("image") or _told(config, "DOCKER_IMAGE")
    if not wants_conda or config.get(PROJECT_ENV_MANAGER) == "local" or (file is None and image is None):
        mine = Environment("user-managed")
        mine.python.user_managed_dependencies = True
        return mine
    name = "".join(c if c.isalnum() else "-" for c in project.name or "project").strip("-") or "project"
    if file is not None and os.path.basename(file) == "python_env.yaml":
        raise ExecutionException(
            f"{file}: give the project a conda_env instead of a python_env, or run it with env_manager='local'."
        )
    environment = Environment.from_conda_specification(name, file) if file else Environment(name)
    if image is not None:
        environment.docker.enabled = True
        environment.docker.base_image = image
    return environment


def _told(config: dict[str, Any], name: str, default: Any = None) -> Any:
    return config.get(name, config.get(name.lower(), default))
