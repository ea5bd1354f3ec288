"""AciWebservice: a service as Azure ran it in one container. Here as all services run."""

from __future__ import annotations

from typing import Any

from trainyard.contract.endpoints import Certificate, ServiceChange, ServiceRecord
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import WebserviceException
from trainyard.sdk.labels import as_names, as_properties, as_tags
from trainyard.sdk.services.certificates import certificate_of
from trainyard.sdk.services.deploy_configurations import AciServiceDeploymentConfiguration, auth_of
from trainyard.sdk.services.service_kinds import model_ids
from trainyard.sdk.services.service_parts import ContainerResourceRequirements
from trainyard.sdk.services.service_update import new_version
from trainyard.sdk.services.webservice import Webservice

_CPU, _MEMORY_GB = 0.1, 0.5  # what Azure gave where nobody said


class AciWebservice(Webservice):
    _webservice_type = "ACI"

    @staticmethod
    def deploy_configuration(
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        description: str | None = None,
        location: str | None = None,
        auth_enabled: bool | None = None,
        ssl_enabled: bool | None = None,
        enable_app_insights: bool | None = None,
        ssl_cert_pem_file: str | None = None,
        ssl_key_pem_file: str | None = None,
        ssl_cname: str | None = None,
        dns_name_label: str | None = None,
        primary_key: str | None = None,
        secondary_key: str | None = None,
        collect_model_data: bool | None = None,
        cmk_vault_base_url: str | None = None,
        cmk_key_name: str | None = None,
        cmk_key_version: str | None = None,
        vnet_name: str | None = None,
        subnet_name: str | None = None,
        max_batch_size: int | None = None,
        batch_wait_ms: float | None = None,
        smoke_test: Any = None,
    ) -> AciServiceDeploymentConfiguration:
        """The last three are Trainyard's own: how many waiting requests may share a call of a model without code, how
        long under load a call may wait for more of them, and a request that must be answered before a version takes
        traffic."""
        return AciServiceDeploymentConfiguration(**locals())

    def run(self, input_data: Any) -> Any:
        return super().run(input_data)

    def update(
        self,
        image: Any = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        description: str | None = None,
        auth_enabled: bool | None = None,
        ssl_enabled: bool | None = None,
        ssl_cert_pem_file: str | None = None,
        ssl_key_pem_file: str | None = None,
        ssl_cname: str | None = None,
        enable_app_insights: bool | None = None,
        models: Any = None,
        inference_config: Any = None,
    ) -> None:
        """New models or code take over when they answer; no request fails meanwhile. Tags replace those it has."""
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        if all(value is None for value in given.values()):
            raise WebserviceException("update() was given nothing to change. Give models, inference_config, tags, …")
        no_effect("AciWebservice.update", enable_app_insights=enable_app_insights)
        auth = None if auth_enabled is None else auth_of({"auth_enabled": auth_enabled}, self._record.auth)
        self._change(
            ServiceChange(
                version=new_version(self.workspace, self._record, models, inference_config, image),
                tags=as_tags(tags) if tags is not None else None,
                properties=as_properties(properties) if properties is not None else None,
                description=description,
                auth=auth,
                certificate=self._new_certificate(given),
            )
        )

    def _new_certificate(self, given: dict[str, Any]) -> Certificate | None:
        """One that takes the place of the one it has; between http and https it changes with a deployment."""
        now = self._record.cname
        if given["ssl_enabled"] is False and now is not None:
            raise WebserviceException(
                f"{self.name} answers https. To have it answer plain http, deploy it again with overwrite=True."
            )
        if given["ssl_enabled"] is None and now is not None and (given["ssl_cert_pem_file"] or given["ssl_cname"]):
            given = {**given, "ssl_enabled": True}
        return certificate_of(given, "AciWebservice.update", now)

    def add_tags(self, tags: dict[str, Any]) -> None:
        self._change(ServiceChange(add_tags=as_tags(tags)))

    def remove_tags(self, tags: Any) -> None:
        self._change(ServiceChange(remove_tags=as_names(tags)))

    def add_properties(self, properties: dict[str, Any]) -> None:
        self._change(ServiceChange(properties=as_properties(properties)))

    def get_token(self) -> Any:
        raise NotImplementedError("ACI webservices do not support Token Authentication. Use get_keys().")

    def _details(self, record: ServiceRecord, settings: dict[str, Any]) -> None:
        cpu, memory = settings.get("cpu_cores", _CPU), settings.get("memory_gb", _MEMORY_GB)
        self.container_resource_requirements = ContainerResourceRequirements(cpu, memory)
        self.location = settings.get("location")
        self.enable_app_insights = bool(settings.get("enable_app_insights"))
        self.ssl_enabled = record.chain is not None
        self.ssl_certificate, self.ssl_key = record.chain, None  # the key is not given back
        self.cname = record.cname
        self.public_ip = record.url.partition("://")[2].rpartition(":")[0] if record.url else None
        self.public_fqdn = self.public_ip
        self.encryption_properties = self.vnet_configuration = None
        self.models = model_ids(record)
        code = record.versions[-1].spec.code if record.versions else None
        self.environment = environment_of(code.environment.definition) if code is not None else None


def environment_of(definition: dict[str, Any]) -> Any:
    from trainyard.sdk.environments.environment import Environment

    return Environment.from_definition({**definition, "docker": definition.get("docker") or {}})
