"""`mlflow.deployments.get_deploy_client(workspace.get_mlflow_tracking_uri())`: models as web services of ours."""

from __future__ import annotations

from typing import Any

from mlflow.deployments import BaseDeploymentClient, PredictionsResponse
from mlflow.exceptions import MlflowException

from trainyard.contract.mlflow import service_url
from trainyard.mlflow_plugin.deploying import configuration_of, deploy_model
from trainyard.mlflow_plugin.errors import mlflow_errors
from trainyard.sdk.services.webservice import Webservice
from trainyard.sdk.workspace import Workspace


class TrainyardDeploymentClient(BaseDeploymentClient):
    """A deployment is a web service; its name is the service's."""

    def create_deployment(
        self,
        name: str,
        model_uri: str,
        flavor: str | None = None,
        config: dict[str, Any] | None = None,
        endpoint: str | None = None,
    ) -> dict[str, Any]:
        _only_pyfunc(flavor, endpoint)
        where = workspace_of(self.target_uri)
        deploy_model(model_uri, where, configuration_of(config), name, f"{name}-model", None, wait=_waits(config))
        return {"name": name, "flavor": "python_function"}

    def update_deployment(
        self,
        name: str,
        model_uri: str | None = None,
        flavor: str | None = None,
        config: dict[str, Any] | None = None,
        endpoint: str | None = None,
    ) -> dict[str, Any]:
        _only_pyfunc(flavor, endpoint)
        if model_uri is None:
            raise MlflowException("update_deployment needs the model_uri that takes the old one's place.")
        where, model = workspace_of(self.target_uri), f"{name}-model"
        settings, wait = configuration_of(config), _waits(config)
        deploy_model(model_uri, where, settings, name, model, None, wait=wait, overwrite=True)
        return {"flavor": "python_function"}

    def delete_deployment(self, name: str, config: dict[str, Any] | None = None, endpoint: str | None = None) -> None:
        del config
        _only_pyfunc(None, endpoint)
        with mlflow_errors():
            self._service(name).delete()

    delete = delete_deployment  # as azureml's own client had it too

    def list_deployments(self, endpoint: str | None = None) -> list[dict[str, Any]]:
        _only_pyfunc(None, endpoint)
        with mlflow_errors():
            return [_shown(service) for service in Webservice.list(workspace_of(self.target_uri))]

    def get_deployment(self, name: str, endpoint: str | None = None) -> dict[str, Any]:
        _only_pyfunc(None, endpoint)
        with mlflow_errors():
            return _shown(self._service(name))

    def predict(self, deployment_name: str | None = None, inputs: Any = None, endpoint: str | None = None) -> Any:
        import json

        _only_pyfunc(None, endpoint)
        if deployment_name is None:
            raise MlflowException("predict needs the deployment_name.")
        if hasattr(inputs, "to_dict"):
            split = inputs.to_dict(orient="split")
            rows: Any = {"columns": split["columns"], "data": split["data"]}
        else:
            rows = inputs.tolist() if hasattr(inputs, "tolist") else inputs
        with mlflow_errors():
            found = self._service(deployment_name).run(json.dumps({"data": rows}))
        return PredictionsResponse.from_json(json.dumps({"predictions": found}))

    def _service(self, name: str) -> Any:
        return Webservice(workspace_of(self.target_uri), name)


def workspace_of(uri: str) -> Workspace:
    """The one a tracking address of ours is of."""
    from trainyard.sdk.connection import connect

    if (found := service_url(uri)) is None:
        raise MlflowException(
            f"{uri!r} is no address of a Trainyard workspace. Pass Workspace.get_mlflow_tracking_uri()."
        )
    with mlflow_errors():
        connection = connect()
        return Workspace._of(connection, connection.workspaces.get(found[1]))


def run_local(name: str, model_uri: str, flavor: str | None = None, config: dict[str, Any] | None = None) -> None:
    del name, model_uri, flavor, config
    raise MlflowException("Services run on this machine anyway: use create_deployment.")


def target_help() -> str:
    return (
        "Pass Workspace.get_mlflow_tracking_uri() as the target. config={'deploy-config-file': PATH} names a JSON file "
        'such as {"computeType": "aci", "containerResourceRequirements": {"cpu": 1, "memoryInGB": 1}}.'
    )


def _shown(service: Any) -> dict[str, Any]:
    return {"name": service.name, "state": service.state, "scoring_uri": service.scoring_uri}


def _waits(config: dict[str, Any] | None) -> bool:
    return not (config or {}).get("async", False)


def _only_pyfunc(flavor: str | None, endpoint: str | None) -> None:
    if flavor not in (None, "python_function"):
        raise MlflowException(f"flavor is {flavor!r}; models are served as python_function.")
    if endpoint is not None:
        raise MlflowException("Trainyard's deployments belong to no endpoint. Leave endpoint out.")
