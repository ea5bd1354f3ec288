"""LocalWebservice: a service to try things with, at a port of one's own choice."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from trainyard.contract.endpoints import ServiceChange, ServiceRecord
from trainyard.contract.serving import ServiceState
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import AzureMLException, WebserviceException, code_of
from trainyard.sdk.services.deploy_configurations import LocalWebserviceDeploymentConfiguration
from trainyard.sdk.services.service_update import changed
from trainyard.sdk.services.webservice import Webservice

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

_UNKNOWN = "webservice.unknown"


class LocalWebservice(Webservice):
    _webservice_type = "Local"

    NETWORK_NAME = "azureml-local"
    STATE_DELETED = "deleted"
    STATE_DEPLOYING = "deploying"
    STATE_FAILED = "failed"
    STATE_RUNNING = "running"
    STATE_UNKNOWN = "unknown"

    def __new__(cls, workspace: Workspace, name: str, must_exist: bool = True, **kwargs: Any) -> LocalWebservice:
        if must_exist or kwargs.get("_record") is not None:
            return super().__new__(cls, workspace, name, **kwargs)  # type: ignore[return-value]
        try:
            return super().__new__(cls, workspace, name, **kwargs)  # type: ignore[return-value]
        except AzureMLException as error:
            if code_of(error) != _UNKNOWN:
                raise
        made: LocalWebservice = object.__new__(cls)
        made.workspace, made.name, made.state, made._credential = workspace, name, cls.STATE_UNKNOWN, None
        made.compute_type, made.tags, made.properties, made.error = "Local", {}, {}, None
        made._uri = made._swagger = None
        made.image_id = None
        return made

    def __init__(self, workspace: Workspace, name: str, must_exist: bool = True, **kwargs: Any) -> None:
        super().__init__(workspace, name, must_exist=must_exist, **kwargs)

    @staticmethod
    def deploy_configuration(port: int | None = None) -> LocalWebserviceDeploymentConfiguration:
        return LocalWebserviceDeploymentConfiguration(port=port)

    @property
    def scoring_uri(self) -> Any:
        return self._in_state("scoring_uri", self._uri)

    @scoring_uri.setter
    def scoring_uri(self, uri: str | None) -> None:
        self._uri = uri

    @property
    def swagger_uri(self) -> Any:
        return self._in_state("swagger_uri", self._swagger)

    @swagger_uri.setter
    def swagger_uri(self, uri: str | None) -> None:
        self._swagger = uri

    @property
    def port(self) -> int:
        """The port it answers on."""
        return int(self._in_state("port", self._uri).rpartition(":")[2].partition("/")[0])

    def run(self, input_data: Any) -> Any:
        """Waits first while it is deploying."""
        if self.state == self.STATE_DEPLOYING:
            self.wait_for_deployment()
        self._in_state("run()", self._uri)
        return super().run(input_data)

    def wait_for_deployment(self, show_output: bool = False, timeout_sec: float | None = None) -> None:
        if self.state in (self.STATE_UNKNOWN, self.STATE_DELETED):
            raise WebserviceException(f"The service {self.name} is {self.state}: there is nothing to wait for.")
        super().wait_for_deployment(show_output, timeout_sec)

    def update_deployment_state(self, must_exist: bool = False) -> None:
        try:
            super().update_deployment_state()
        except AzureMLException as error:
            if must_exist or code_of(error) != _UNKNOWN:
                raise
            self.state = self.STATE_DELETED if self.state != self.STATE_UNKNOWN else self.STATE_UNKNOWN

    def get_logs(self, num_lines: int = 5000, raw: bool = False) -> str:
        del raw  # it is what was printed, either way
        return super().get_logs(num_lines)

    def reload(self, wait: bool = False) -> None:
        """Takes the scoring script and what lies beside it as they are now; the environment stays."""
        self.update_deployment_state(must_exist=True)
        spec = self._record.versions[-1].spec
        if spec.code is None or spec.code.source_path is None:
            raise WebserviceException(f"{self.name} has no scoring script of yours to load again. Use update().")
        from dataclasses import replace

        from trainyard.sdk.services.inference_config import _folder, check_script, files

        source, inside = spec.code.source_path, spec.code.entry_script
        if os.path.isdir(source):
            check_script(os.path.join(source, inside.partition("/")[2]))
            content, _ = _folder(self.workspace, source)
        else:
            check_script(source)
            content = files(self.workspace, [source, *spec.settings.get("dependencies", [])])
        self._change(ServiceChange(version=replace(spec, code=replace(spec.code, content=content))))
        self.wait_for_deployment()  # the new code answers when reload() is over
        del wait

    def update(
        self,
        models: Any = None,
        image_config: Any = None,
        deployment_config: Any = None,
        wait: bool = False,
        inference_config: Any = None,
    ) -> None:
        """What is not given stays as it is."""
        if all(it is None for it in (models, image_config, deployment_config, inference_config)):
            raise WebserviceException("update() was given nothing to change. Give models, inference_config, …")
        config, port = inference_config or image_config, getattr(deployment_config, "port", None)
        version = None
        if models is not None or config is not None:
            version = changed(self.workspace, self._record.versions[-1].spec, models, config, local=True)
        self._change(ServiceChange(version=version, port=port))
        if wait:
            self.wait_for_deployment()

    def delete(self, delete_cache: bool = True, delete_image: bool = False, delete_volume: bool = True) -> None:
        del delete_cache, delete_image, delete_volume  # all of it goes
        super().delete()
        self.state = self.STATE_DELETED

    def deploy_to_cloud(
        self, name: str | None = None, deployment_config: Any = None, deployment_target: Any = None
    ) -> Webservice:
        """The same models and code as a service of another kind."""
        from trainyard.sdk.services.deploy import _configuration, _target_name, create
        from trainyard.sdk.services.deploy_configurations import scaling_of, service_name

        spec = self._record.versions[-1].spec
        if any(model.version == 0 for model in spec.models):
            raise WebserviceException(
                "Models that were given as paths have to be registered first: Model.register(...)."
            )
        from dataclasses import replace

        configuration = _configuration(deployment_config, deployment_target)
        spec = replace(spec, scaling=scaling_of(configuration._given), settings=configuration._settings())
        target = _target_name(deployment_target)
        return create(self.workspace, configuration._new_service(service_name(name or self.name), spec, False, target))

    def get_keys(self) -> Any:
        raise NotImplementedError("Local webservices ask for no keys.")

    def regen_key(self, key: str, set_key: str | None = None) -> None:
        raise NotImplementedError("Local webservices ask for no keys.")

    def get_token(self) -> Any:
        raise NotImplementedError("Local webservices ask for no tokens.")

    @classmethod
    def deserialize(cls, workspace: Workspace, webservice_payload: dict[str, Any]) -> Any:
        raise NotImplementedError("Local webservices are found by their name: LocalWebservice(workspace, name).")

    def serialize(self) -> dict[str, Any]:
        uri = self._uri if self.state == self.STATE_RUNNING else None
        return {
            "name": self.name,
            "computeType": "Local",
            "state": self.state,
            "error": self.error,
            "scoringUri": uri,
            "imageId": self.image_id,
            "tags": self.tags,
            "properties": self.properties,
        }

    def __repr__(self) -> str:
        return f"LocalWebservice(name={self.name}, state={self.state}, scoring_uri={self._uri})"

    def _in_state(self, what: str, value: Any) -> Any:
        if self.state not in (self.STATE_RUNNING, self.STATE_DEPLOYING) or value is None:
            raise WebserviceException(f"{what} cannot be had while the service {self.name} is {self.state}.")
        return value

    def _addresses(self, record: ServiceRecord) -> None:
        url = record.url.replace("127.0.0.1", "localhost") if record.url else None
        self._uri = f"{url}/score" if url else None
        self._swagger = f"{url}/swagger.json" if url else None

    def _details(self, record: ServiceRecord, settings: dict[str, Any]) -> None:
        del settings
        self.state = _STATES[record.state]

    # last: below it `list` would mean this method

    @staticmethod
    def list(  # type: ignore[override]
        workspace: Workspace, model_name: str | None = None, model_id: str | None = None, all: bool | None = None
    ) -> list[LocalWebservice]:
        no_effect("LocalWebservice.list", all=all)
        found = Webservice.list(workspace, compute_type="Local", model_name=model_name, model_id=model_id)
        return [service for service in found if isinstance(service, LocalWebservice)]


_STATES = {
    ServiceState.TRANSITIONING: LocalWebservice.STATE_DEPLOYING,
    ServiceState.HEALTHY: LocalWebservice.STATE_RUNNING,
    ServiceState.UNHEALTHY: LocalWebservice.STATE_FAILED,
    ServiceState.FAILED: LocalWebservice.STATE_FAILED,
    ServiceState.UNSCHEDULABLE: LocalWebservice.STATE_FAILED,
}
