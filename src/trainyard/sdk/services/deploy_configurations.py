"""Deployment configurations: how a service of each kind is to be run."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from trainyard.contract.endpoints import NewService, Scaling, ServiceKind, Share, VersionSpec
from trainyard.contract.names import check_name, new_id
from trainyard.contract.serving import Auth
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import AzureMLException, UserErrorException, WebserviceException, sdk_errors
from trainyard.sdk.labels import as_properties, as_tags
from trainyard.sdk.services.certificates import certificate_of

_DELAY, _AZURE_DELAY_S = "initial_delay_seconds", 310
_PROBES = {"period_seconds": 10, "failure_threshold": 3}  # name → Azure's own value

# Parameters that mean something only where there are containers and clouds.
ELSEWHERE = frozenset(
    {
        "memory_gb_limit",
        "cpu_cores_limit",
        "location",
        "dns_name_label",
        "enable_app_insights",
        "cmk_vault_base_url",
        "cmk_key_name",
        "cmk_key_version",
        "vnet_name",
        "subnet_name",
        "timeout_seconds",
        "success_threshold",
        "blobfuse_enabled",
    }
)


class WebserviceDeploymentConfiguration:
    """The parameters as they were given: attributes of the same names."""

    _kind: ClassVar[ServiceKind]
    _where: ClassVar[str]

    def __init__(self, **given: Any) -> None:
        self._given = {name: value for name, value in given.items() if value is not None}
        self.__dict__.update(given)
        self.validate_configuration()
        without = {name: self._given.get(name) or None for name in sorted(ELSEWHERE & set(self._given))}
        no_effect(f"{self._where}.deploy_configuration", **without)

    def validate_configuration(self) -> None:
        """WebserviceException says what is wrong."""
        scaling_of(self._given)
        self._auth()

    def print_deploy_configuration(self) -> None:
        print("\n".join(f"{name}: {value}" for name, value in self._given.items()))

    def _auth(self) -> Auth:
        return auth_of(self._given, otherwise=Auth.NONE)

    def _new_service(self, name: str, version: VersionSpec, overwrite: bool, target: str | None) -> NewService:
        given = self._given
        return NewService(
            name=name,
            kind=self._kind,
            version=version,
            request_id=new_id(),
            auth=self._auth(),
            primary_key=given.get("primary_key"),
            secondary_key=given.get("secondary_key"),
            target=target or given.get("compute_target_name"),
            namespace=given.get("namespace"),
            collect=bool(given.get("collect_model_data")),
            tags=as_tags(given.get("tags")),
            properties=as_properties(given.get("properties")),
            description=given.get("description"),
            overwrite=overwrite,
            certificate=certificate_of(given, f"{self._where}.deploy_configuration"),
        )

    def _settings(self) -> dict[str, Any]:
        hidden = {"primary_key", "secondary_key", "tags", "properties", "description"}
        return {name: value for name, value in self._given.items() if name not in hidden}


class AciServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    _kind = ServiceKind.ACI
    _where = "AciWebservice"

    def validate_configuration(self) -> None:
        super().validate_configuration()
        certificate_of(self._given, f"{self._where}.deploy_configuration")


class AksServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    _kind = ServiceKind.AKS
    _where = "AksWebservice"

    def _auth(self) -> Auth:
        return auth_of(self._given, otherwise=Auth.KEY)


class AksEndpointDeploymentConfiguration(AksServiceDeploymentConfiguration):
    _kind = ServiceKind.ENDPOINT
    _where = "AksEndpoint"

    def validate_configuration(self) -> None:
        super().validate_configuration()
        check_version_name(self._given.get("version_name"))

    def _new_service(self, name: str, version: VersionSpec, overwrite: bool, target: str | None) -> NewService:
        from dataclasses import replace

        given = self._given
        new = super()._new_service(name, version, overwrite, target)
        share = share_of(given)
        described = replace(version, tags=new.tags, properties=new.properties, description=new.description)
        return replace(new, version=described, version_name=given.get("version_name") or name, share=share)


class LocalWebserviceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    _kind = ServiceKind.LOCAL
    _where = "LocalWebservice"

    def validate_configuration(self) -> None:
        port = self._given.get("port")
        if port is not None and (isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65_536):
            raise WebserviceException(f"port is {port!r}; give a number from 1 to 65535, or none for a free one.")

    def _new_service(self, name: str, version: VersionSpec, overwrite: bool, target: str | None) -> NewService:
        from dataclasses import replace

        del overwrite, target  # a local service of that name is replaced, as its container was
        return replace(super()._new_service(name, version, True, None), port=self._given.get("port") or 0)


def scaling_of(given: dict[str, Any]) -> Scaling:
    """The parameters that say how much runs; each number checked."""
    names = {
        "cpu_cores": "cpu_cores",
        "memory_gb": "memory_gb",
        "gpu_cores": "gpu_cores",
        "num_replicas": "replicas",
        "autoscale_min_replicas": "min_replicas",
        "autoscale_max_replicas": "max_replicas",
        "autoscale_refresh_seconds": "refresh_s",
        "autoscale_target_utilization": "target_utilization",
        "replica_max_concurrent_requests": "concurrent_requests",
        "scoring_timeout_ms": "timeout_ms",
        "max_request_wait_time": "queue_wait_ms",
        "max_batch_size": "batch",
        "batch_wait_ms": "batch_wait_ms",
    }
    found: dict[str, Any] = {}
    for name, ours in names.items():
        value = given.get(name)
        if value is None:
            continue
        least_is_zero = name in ("gpu_cores", "batch_wait_ms")
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or value < 0
            or (not value and not least_is_zero)
        ):
            raise WebserviceException(f"{name} is {value!r}; it must be a number above 0.")
        found[ours] = value if ours in ("cpu_cores", "memory_gb", "batch_wait_ms") else int(value)
    grows = given.get("autoscale_enabled")
    if grows and given.get("num_replicas"):
        raise WebserviceException("num_replicas fixes their number and autoscale_enabled lets it change. Give one.")
    if grows is False and (given.get("autoscale_min_replicas") or given.get("autoscale_max_replicas")):
        raise WebserviceException("autoscale_min_replicas and autoscale_max_replicas need autoscale_enabled. Give it.")
    return Scaling(autoscale=bool(grows) if grows is not None else None, init_timeout_s=init_timeout_of(given), **found)


def init_timeout_of(given: dict[str, Any]) -> int | None:
    """How long a probe of Azure's let a container start before it was ended."""
    for name in (_DELAY, *_PROBES):
        value = given.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
            raise WebserviceException(f"{name} is {value!r}; it must be a number of at least 0.")
    if given.get(_DELAY) is None and all(given.get(name) is None for name in _PROBES):
        return None
    delay = given[_DELAY] if given.get(_DELAY) is not None else _AZURE_DELAY_S
    period, failures = (given[name] if given.get(name) is not None else usual for name, usual in _PROBES.items())
    return math.ceil(delay + period * failures)


def share_of(given: dict[str, Any]) -> Share:
    for name in ("traffic_percentile", "mirror_percentile"):
        value = given.get(name)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100
        ):
            raise WebserviceException(f"{name} is {value!r}; it must be a number from 0 to 100.")

    def percent(name: str) -> int | None:
        return round(given[name]) if given.get(name) is not None else None

    return Share(
        percent("traffic_percentile"),
        percent("mirror_percentile"),
        given.get("is_default"),
        given.get("is_control_version_type"),
    )


def auth_of(given: dict[str, Any], otherwise: Auth) -> Auth:
    keys, tokens = given.get("auth_enabled"), given.get("token_auth_enabled")
    if keys and tokens:
        raise WebserviceException(
            "auth_enabled asks for keys and token_auth_enabled for tokens: enable one of the two."
        )
    if tokens:
        return Auth.TOKEN
    return otherwise if keys is None else Auth.KEY if keys else Auth.NONE


def check_version_name(name: Any) -> None:
    if name is None:
        return
    try:
        with sdk_errors():
            check_name("a version of an endpoint", name)
    except AzureMLException as error:
        raise WebserviceException(error.message, error.inner_exception) from error


def service_name(name: Any) -> str:
    try:
        with sdk_errors():
            return check_name("a service", name)
    except UserErrorException as error:
        raise WebserviceException(error.message, error.inner_exception) from error
