"""What an update makes of a service's version: what is not given stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trainyard.contract.endpoints import ServiceRecord, VersionSpec
from trainyard.sdk.errors import WebserviceException
from trainyard.sdk.services.deploy import model_refs, scoring_code

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


def new_version(
    workspace: Workspace, record: ServiceRecord, models: Any, inference_config: Any, image: Any = None
) -> VersionSpec | None:
    """None: models and code stay."""
    if image is not None:
        if models is not None or inference_config is not None:
            raise WebserviceException("An image brings its own models and code. Give image, or the other two.")
        spec: VersionSpec = image._record.spec
        old = record.versions[-1].spec
        return replace(spec, scaling=old.scaling, settings={**old.settings, "image_id": image.id})
    if models is None and inference_config is None:
        return None
    return changed(workspace, record.versions[-1].spec, models, inference_config)


def changed(
    workspace: Workspace, spec: VersionSpec, models: Any, inference_config: Any, *, local: bool = False
) -> VersionSpec:
    refs = spec.models if models is None else model_refs(workspace, models, local=local)
    return replace(spec, models=refs, code=scoring_code(workspace, inference_config) or spec.code)
