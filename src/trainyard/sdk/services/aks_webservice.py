"""AksWebservice: a service as Azure ran it on a cluster, with replicas, keys and tokens. Here as all services run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from trainyard.contract.endpoints import ServiceChange, ServiceRecord
from trainyard.contract.serving import Auth
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import WebserviceException
from trainyard.sdk.labels import as_names, as_properties, as_tags
from trainyard.sdk.services.aci_webservice import environment_of
from trainyard.sdk.services.deploy_configurations import (
    ELSEWHERE,
    AksServiceDeploymentConfiguration,
    auth_of,
    scaling_of,
)
from trainyard.sdk.services.service_kinds import model_ids
from trainyard.sdk.services.service_parts import (
    AksServiceAccessToken,
    AutoScaler,
    ContainerResourceRequirements,
    DataCollection,
    LivenessProbeRequirements,
)
from trainyard.sdk.services.service_update import new_version
from trainyard.sdk.services.webservice import Webservice

_NOT_SCALING = frozenset({"image", "tags", "properties", "description", "models", "inference_config", "auth_enabled"})


class AksWebservice(Webservice):
    _webservice_type = "AKS"

    @staticmethod
    def deploy_configuration(
        autoscale_enabled: bool | None = None,
        autoscale_min_replicas: int | None = None,
        autoscale_max_replicas: int | None = None,
        autoscale_refresh_seconds: int | None = None,
        autoscale_target_utilization: int | None = None,
        collect_model_data: bool | None = None,
        auth_enabled: bool | None = None,
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
        enable_app_insights: bool | None = None,
        scoring_timeout_ms: int | None = None,
        replica_max_concurrent_requests: int | None = None,
        max_request_wait_time: int | None = None,
        num_replicas: int | None = None,
        primary_key: str | None = None,
        secondary_key: str | None = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        description: str | None = None,
        gpu_cores: int | None = None,
        period_seconds: int | None = None,
        initial_delay_seconds: int | None = None,
        timeout_seconds: int | None = None,
        success_threshold: int | None = None,
        failure_threshold: int | None = None,
        namespace: str | None = None,
        token_auth_enabled: bool | None = None,
        compute_target_name: str | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        blobfuse_enabled: bool | None = None,
        max_batch_size: int | None = None,
        batch_wait_ms: float | None = None,
        smoke_test: Any = None,
    ) -> AksServiceDeploymentConfiguration:
        """The last three are Trainyard's own: how many waiting requests may share a call of a model without code, how
        long under load a call may wait for more of them, and a request that must be answered before a version takes
        traffic."""
        return AksServiceDeploymentConfiguration(**locals())

    def run(self, input_data: Any) -> Any:
        return super().run(input_data)

    def get_access_token(self) -> AksServiceAccessToken:
        """A token that opens the service for some hours; anew after `refresh_after`."""
        made = self.workspace._clients.services.token(self.name)
        return AksServiceAccessToken(made.token, _moment(made.refresh_after_ns), _moment(made.expires_ns))

    def get_token(self) -> tuple[str, datetime]:
        """The token, and when to ask for the next one."""
        made = self.get_access_token()
        return made.access_token, made.refresh_after

    def update(  # type: ignore[override]
        self,
        image: Any = None,
        autoscale_enabled: bool | None = None,
        autoscale_min_replicas: int | None = None,
        autoscale_max_replicas: int | None = None,
        autoscale_refresh_seconds: int | None = None,
        autoscale_target_utilization: int | None = None,
        collect_model_data: bool | None = None,
        auth_enabled: bool | None = None,
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
        enable_app_insights: bool | None = None,
        scoring_timeout_ms: int | None = None,
        replica_max_concurrent_requests: int | None = None,
        max_request_wait_time: int | None = None,
        num_replicas: int | None = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        description: str | None = None,
        models: Any = None,
        inference_config: Any = None,
        gpu_cores: int | None = None,
        period_seconds: int | None = None,
        initial_delay_seconds: int | None = None,
        timeout_seconds: int | None = None,
        success_threshold: int | None = None,
        failure_threshold: int | None = None,
        namespace: str | None = None,
        token_auth_enabled: bool | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        **kwargs: Any,
    ) -> None:
        """New models or code take over when they answer; no request fails meanwhile. Tags replace those it has."""
        given = {k: v for k, v in locals().items() if k not in ("self", "kwargs", "__class__") and v is not None}
        if not given:
            raise WebserviceException("update() was given nothing to change. Give models, inference_config, tags, …")
        tell_elsewhere("AksWebservice.update", given)
        version = new_version(self.workspace, self._record, models, inference_config, image)
        self._change(
            ServiceChange(
                version=with_scaling(version, given) if version is not None else None,
                scaling=scaling_of(given) if version is None and scales(given) else None,
                settings=settings_in(given) if version is None else {},
                tags=as_tags(tags) if tags is not None else None,
                properties=as_properties(properties) if properties is not None else None,
                description=description,
                collect=collect_model_data,
                namespace=namespace,
                auth=changed_auth(self._record.auth, given),
            )
        )

    def add_tags(self, tags: dict[str, Any]) -> None:
        self._change(ServiceChange(add_tags=as_tags(tags)))

    def remove_tags(self, tags: Any) -> None:
        self._change(ServiceChange(remove_tags=as_names(tags)))

    def add_properties(self, properties: dict[str, Any]) -> None:
        self._change(ServiceChange(properties=as_properties(properties)))

    def _addresses(self, record: ServiceRecord) -> None:
        super()._addresses(record)
        if base := self._base(record):
            self.scoring_uri = f"{base}/api/v1/service/{record.name}/score"
            self.swagger_uri = f"{base}/api/v1/service/{record.name}/swagger.json"

    def _details(self, record: ServiceRecord, settings: dict[str, Any]) -> None:
        self.compute_name, self.namespace = record.target, record.namespace
        self.data_collection = DataCollection(record.collect)
        self.deployment_status = record.operation.value
        self.enable_app_insights = bool(settings.get("enable_app_insights"))
        self.models = model_ids(record)
        code = record.versions[-1].spec.code if record.versions else None
        self.environment = environment_of(code.environment.definition) if code is not None else None
        self.is_default = self.traffic_percentile = self.version_type = None
        take_settings(self, settings)


def take_settings(service: Any, settings: dict[str, Any]) -> None:
    """What a deployment configuration said, as the SDK shows it, with Azure's own defaults."""
    replicas = settings.get("num_replicas")
    service.num_replicas = replicas
    service.autoscaler = AutoScaler(
        settings.get("autoscale_enabled", replicas is None),
        settings.get("autoscale_min_replicas", None if replicas else 1),
        settings.get("autoscale_max_replicas", None if replicas else 10),
        settings.get("autoscale_refresh_seconds"),
        settings.get("autoscale_target_utilization"),
    )
    service.container_resource_requirements = ContainerResourceRequirements(
        settings.get("cpu_cores", 0.1), settings.get("memory_gb", 0.5), settings.get("gpu_cores")
    )
    service.liveness_probe_requirements = LivenessProbeRequirements(
        settings.get("period_seconds", 10),
        settings.get("initial_delay_seconds", 310),
        settings.get("timeout_seconds", 2),
        settings.get("success_threshold", 1),
        settings.get("failure_threshold", 3),
    )
    service.max_concurrent_requests_per_container = settings.get("replica_max_concurrent_requests", 1)
    service.max_request_wait_time = settings.get("max_request_wait_time", 500)
    service.scoring_timeout_ms = settings.get("scoring_timeout_ms", 60_000)


def tell_elsewhere(where: str, given: dict[str, Any]) -> None:
    no_effect(where, **{name: given[name] or None for name in sorted(ELSEWHERE & set(given))})


def settings_in(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in _NOT_SCALING}


def scales(given: dict[str, Any]) -> bool:
    from trainyard.contract.endpoints import Scaling

    return scaling_of(given) != Scaling()


def with_scaling(version: Any, given: dict[str, Any]) -> Any:
    """A new version with the numbers that came along with it."""
    from dataclasses import replace

    from trainyard.contract.codec import to_json

    numbers = {name: value for name, value in to_json(scaling_of(given)).items() if value is not None}
    settings = {**version.settings, **settings_in(given)}
    return replace(version, scaling=replace(version.scaling, **numbers), settings=settings)


def changed_auth(now: Auth, given: dict[str, Any]) -> Auth | None:
    """Turning tokens on turns keys off, and the reverse."""
    keys, tokens = given.get("auth_enabled"), given.get("token_auth_enabled")
    if keys is None and tokens is None:
        return None
    if keys is None and tokens is False:
        return Auth.KEY if now is Auth.TOKEN else now
    return auth_of({"auth_enabled": keys, "token_auth_enabled": tokens}, Auth.KEY)


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / 1e9, UTC)
