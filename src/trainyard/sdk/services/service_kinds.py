"""The kinds of service there are, and what a record says of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainyard.contract.endpoints import ServiceKind, ServiceRecord
from trainyard.sdk.errors import WebserviceException

if TYPE_CHECKING:
    from trainyard.sdk.services.webservice import Webservice

_CLASSES = {
    ServiceKind.ACI: "trainyard.sdk.services.aci_webservice:AciWebservice",
    ServiceKind.AKS: "trainyard.sdk.services.aks_webservice:AksWebservice",
    ServiceKind.ENDPOINT: "trainyard.sdk.services.aks_endpoint:AksEndpoint",
    ServiceKind.LOCAL: "trainyard.sdk.services.local_webservice:LocalWebservice",
}


def model_ids(record: ServiceRecord) -> list[str]:
    return [f"{model.name}:{model.version}" for version in record.versions for model in version.spec.models]


def kind_of(compute_type: str | None) -> ServiceKind | None:
    if compute_type is None:
        return None
    by_name = {kind.value.upper(): kind for kind in ServiceKind}
    if str(compute_type).upper() not in by_name:
        raise WebserviceException(f"{compute_type!r} is no kind of service. Use one of: {', '.join(ServiceKind)}.")
    return by_name[str(compute_type).upper()]


def image_name_of(record: ServiceRecord) -> str | None:
    settings = record.versions[-1].spec.settings if record.versions else {}
    found = settings.get("image_id")
    return str(found).partition(":")[0] if found else None


def class_of(kind: ServiceKind) -> type[Webservice]:
    import importlib

    module, _, name = _CLASSES[kind].partition(":")
    found: type[Webservice] = getattr(importlib.import_module(module), name)
    return found
