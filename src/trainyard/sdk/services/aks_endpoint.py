"""AksEndpoint: several versions of a service behind one address, each with its share of the traffic."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from trainyard.contract.endpoints import ServiceChange, ServiceRecord, VersionRecord, VersionSpec
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import WebserviceException
from trainyard.sdk.labels import as_properties, as_tags
from trainyard.sdk.services.aks_webservice import (
    AksWebservice,
    changed_auth,
    scales,
    settings_in,
    take_settings,
    tell_elsewhere,
    with_scaling,
)
from trainyard.sdk.services.deploy import check_no_code
from trainyard.sdk.services.deploy_configurations import (
    AksEndpointDeploymentConfiguration,
    check_version_name,
    scaling_of,
    share_of,
)
from trainyard.sdk.services.service_update import changed

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

_OF_VERSIONS = frozenset(
    {"version_name", "traffic_percentile", "mirror_percentile", "is_default", "is_control_version_type"}
)


class AksEndpoint(AksWebservice):
    _webservice_type = "AKSENDPOINT"

    class VersionType:
        control = "Control"
        treatment = "Treatment"

    versions: dict[str, AksEndpointVersion]

    @staticmethod
    def deploy_configuration(  # type: ignore[override]
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
        version_name: str | None = None,
        traffic_percentile: float | None = None,
        compute_target_name: str | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        mirror_percentile: float | None = None,
        max_batch_size: int | None = None,
        batch_wait_ms: float | None = None,
        smoke_test: Any = None,
    ) -> AksEndpointDeploymentConfiguration:
        """`mirror_percentile` is Trainyard's own: so many per cent of the requests go to this version as copies, whose
        answers nobody gets."""
        return AksEndpointDeploymentConfiguration(**locals())

    def create_version(
        self,
        version_name: str,
        autoscale_enabled: bool | None = None,
        autoscale_min_replicas: int | None = None,
        autoscale_max_replicas: int | None = None,
        autoscale_refresh_seconds: int | None = None,
        autoscale_target_utilization: int | None = None,
        collect_model_data: bool | None = None,
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
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
        traffic_percentile: float | None = None,
        is_default: bool | None = None,
        is_control_version_type: bool | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        mirror_percentile: float | None = None,
    ) -> None:
        """A version beside those that are there; it takes its share when it answers."""
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__") and v is not None}
        check_version_name(version_name)
        tell_elsewhere("AksEndpoint.create_version", given)
        if inference_config is None:
            check_no_code(models or [])
        spec = changed(self.workspace, VersionSpec(), models or [], inference_config)
        spec = _described(with_scaling(spec, _without(given)), given)
        self._change(
            ServiceChange(
                version=spec,
                version_name=version_name,
                new_version=True,
                share=share_of(given),
                collect=collect_model_data,
            )
        )

    def update_version(
        self,
        version_name: str,
        autoscale_enabled: bool | None = None,
        autoscale_min_replicas: int | None = None,
        autoscale_max_replicas: int | None = None,
        autoscale_refresh_seconds: int | None = None,
        autoscale_target_utilization: int | None = None,
        collect_model_data: bool | None = None,
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
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
        traffic_percentile: float | None = None,
        is_default: bool | None = None,
        is_control_version_type: bool | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        mirror_percentile: float | None = None,
    ) -> None:
        """What is not given stays as it is. New models or code take over when they answer."""
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__") and v is not None}
        if set(given) == {"version_name"}:
            raise WebserviceException(
                "update_version() was given nothing to change. Give traffic_percentile, models, …"
            )
        tell_elsewhere("AksEndpoint.update_version", given)
        self.update_deployment_state()
        if version_name not in self.versions:
            known = ", ".join(self.versions) or "none"
            raise WebserviceException(f"{self.name} has no version {version_name} (it has: {known}). Name one of them.")
        numbers = _without(given)
        spec = None
        if models is not None or inference_config is not None:
            spec = changed(self.workspace, self.versions[version_name]._version.spec, models, inference_config)
            spec = _described(with_scaling(spec, numbers), given)
        self._change(
            ServiceChange(
                version=spec,
                version_name=version_name,
                scaling=scaling_of(numbers) if spec is None and scales(numbers) else None,
                settings=settings_in(numbers) if spec is None else {},
                version_tags=as_tags(tags) if tags is not None else None,
                version_properties=as_properties(properties) if properties is not None else None,
                version_description=description,
                share=share_of(given),
                collect=collect_model_data,
            )
        )

    def delete_version(self, version_name: str) -> None:
        """Its share goes to the default version."""
        if not version_name:
            raise WebserviceException("delete_version() needs the name of a version.")
        self._ask(lambda: self._take(self.workspace._clients.services.delete_version(self.name, version_name)))

    def update(  # type: ignore[override]
        self,
        auth_enabled: bool | None = None,
        token_auth_enabled: bool | None = None,
        enable_app_insights: bool | None = None,
        description: str | None = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
    ) -> None:
        """The endpoint itself; its versions change with update_version()."""
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__") and v is not None}
        if not given:
            raise WebserviceException("update() was given nothing to change. Give tags, description, auth_enabled, …")
        no_effect("AksEndpoint.update", enable_app_insights=enable_app_insights)
        self._change(
            ServiceChange(
                tags=as_tags(tags) if tags is not None else None,
                properties=as_properties(properties) if properties is not None else None,
                description=description,
                auth=changed_auth(self._record.auth, given),
            )
        )

    def _details(self, record: ServiceRecord, settings: dict[str, Any]) -> None:
        super()._details(record, settings)
        self.versions = {version.name: _view(self.workspace, record, version) for version in record.versions}


class AksEndpointVersion(AksWebservice):
    """One version, as the endpoint shows it. What changes it is asked of the endpoint."""

    _version: VersionRecord

    def __repr__(self) -> str:
        return (
            f"AksEndpointVersion(name={self.name}, state={self.state}, traffic_percentile={self.traffic_percentile}, "
            f"is_default={self.is_default}, version_type={self.version_type}, tags={self.tags})"
        )


def _view(workspace: Workspace, record: ServiceRecord, version: VersionRecord) -> AksEndpointVersion:
    from dataclasses import replace

    made: AksEndpointVersion = object.__new__(AksEndpointVersion)
    made.workspace = workspace
    made._credential = None
    spec = version.spec
    made._take(
        replace(
            record,
            versions=(version,),
            state=version.state,
            error=version.error,
            tags=spec.tags,
            properties=spec.properties,
            description=spec.description,
        )
    )
    made.name, made._version = version.name, version
    made.traffic_percentile = version.traffic  # type: ignore[assignment]
    made.is_default = version.is_default  # type: ignore[assignment]
    made.version_type = AksEndpoint.VersionType.control if version.is_control else AksEndpoint.VersionType.treatment  # type: ignore[assignment]
    made.created_time = datetime.fromtimestamp(version.created_ns / 1e9, UTC)
    made.updated_time = datetime.fromtimestamp(version.modified_ns / 1e9, UTC)
    take_settings(made, spec.settings)
    return made


def _without(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in _OF_VERSIONS}


def _described(spec: VersionSpec, given: dict[str, Any]) -> VersionSpec:
    from dataclasses import replace

    return replace(
        spec,
        tags=as_tags(given["tags"]) if "tags" in given else spec.tags,
        properties=as_properties(given["properties"]) if "properties" in given else spec.properties,
        description=given.get("description", spec.description),
    )
