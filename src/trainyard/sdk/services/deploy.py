"""Deploying: models, code and a configuration become one request."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trainyard.contract.endpoints import CodeSpec, ModelRef, NewService, ServiceKind, VersionSpec
from trainyard.sdk.errors import AzureMLException, UserErrorException, WebserviceException, code_of
from trainyard.sdk.models.model import Model
from trainyard.sdk.services.deploy_configurations import (
    AciServiceDeploymentConfiguration,
    AksServiceDeploymentConfiguration,
    WebserviceDeploymentConfiguration,
    scaling_of,
    service_name,
)

if TYPE_CHECKING:
    from trainyard.sdk.services.webservice import Webservice
    from trainyard.sdk.workspace import Workspace

_REFUSED_AS_USERS = frozenset({"model.refused"})  # the SDK's own exception for a deployment without code


def deploy(
    workspace: Workspace,
    name: str,
    models: Any,
    inference_config: Any = None,
    deployment_config: Any = None,
    deployment_target: Any = None,
    overwrite: bool = False,
) -> Webservice:
    service_name(name)
    configuration = _configuration(deployment_config, deployment_target)
    refs = model_refs(workspace, models, local=configuration._kind is ServiceKind.LOCAL)
    if inference_config is None:
        check_no_code(models)
    code = scoring_code(workspace, inference_config)
    spec = version_spec(refs, code, configuration)
    new = configuration._new_service(name, spec, overwrite, _target_name(deployment_target))
    return create(workspace, new)


def create(workspace: Workspace, new: NewService) -> Webservice:
    from trainyard.sdk.services.webservice import Webservice

    try:
        record = workspace._clients.services.create(new)
    except AzureMLException as error:
        raise as_users(error) from error
    return Webservice._of(workspace, record)


def version_spec(
    refs: tuple[ModelRef, ...], code: CodeSpec | None, configuration: WebserviceDeploymentConfiguration
) -> VersionSpec:
    given = configuration._given
    return VersionSpec(
        models=refs,
        code=code,
        scaling=scaling_of(given),
        sample=smoke_test(given.get("smoke_test")),
        settings=configuration._settings(),
    )


def smoke_test(given: Any) -> str | None:
    """A request's body that must be answered before a version takes traffic: text, or what becomes JSON."""
    import json

    if given is None or isinstance(given, str):
        return given
    try:
        return json.dumps(given)
    except (TypeError, ValueError) as error:
        raise WebserviceException(f"smoke_test must be text or what JSON can say: {error}.", error) from error


def scoring_code(workspace: Workspace, inference_config: Any) -> CodeSpec | None:
    if inference_config is None:
        return None
    if not hasattr(inference_config, "_code"):  # an InferenceConfig, or the image configuration of 2018
        raise WebserviceException(
            f"inference_config is {inference_config!r}; it must be an InferenceConfig(entry_script=..., "
            "environment=...)."
        )
    code: CodeSpec = inference_config._code(workspace)
    return code


def model_refs(workspace: Workspace, models: Any, *, local: bool = False) -> tuple[ModelRef, ...]:
    """Models, their ids (`name`, `name:3`, `name@alias`), and for local services paths of files not registered."""
    if models is None:
        models = []
    if not isinstance(models, list | tuple | set):
        raise WebserviceException("models must be a list of Model objects: Model.deploy(ws, name, [model]).")
    return tuple(_ref(workspace, model, local) for model in models)


def check_no_code(models: Any) -> None:
    """What the SDK refused before it asked the service."""
    if len(models) != 1:
        raise UserErrorException(
            f"Without an inference_config exactly one model is deployed, not {len(models)}. Give one model, or an "
            "InferenceConfig with a scoring script."
        )


def described(models: Any, inference_config: Any, deployment_config: Any, deployment_target: Any) -> str:
    configuration = _configuration(deployment_config, deployment_target)
    names = ", ".join(getattr(model, "id", str(model)) for model in models) or "none"
    code = repr(inference_config) if inference_config is not None else "none (served by its framework)"
    settings = ", ".join(f"{name}={value}" for name, value in configuration._given.items()) or "defaults"
    target = _target_name(deployment_target) or "this machine"
    return f"Kind: {configuration._kind}\nModels: {names}\nCode: {code}\nSettings: {settings}\nTarget: {target}"


def as_users(error: AzureMLException) -> AzureMLException:
    """What makes no sense in a deployment is a WebserviceException; a model that nothing serves without code is what
    the SDK raised for it."""
    if code_of(error) in _REFUSED_AS_USERS:
        return UserErrorException(error.message, error.inner_exception)
    if isinstance(error, WebserviceException):
        return error
    return WebserviceException(error.message, error.inner_exception)


def _configuration(given: Any, target: Any) -> WebserviceDeploymentConfiguration:
    if given is None:
        on_aks = getattr(target, "type", None) == "AKS"
        return AksServiceDeploymentConfiguration() if on_aks else AciServiceDeploymentConfiguration()
    if not isinstance(given, WebserviceDeploymentConfiguration):
        raise WebserviceException(
            f"deployment_config is {given!r}; it must be what AciWebservice.deploy_configuration(...), or that of "
            "another kind, answered."
        )
    return given


def _target_name(target: Any) -> str | None:
    if target is None or isinstance(target, str):
        return target
    return str(target.name)


def _ref(workspace: Workspace, model: Any, local: bool) -> ModelRef:
    if isinstance(model, Model):
        return ModelRef(model.name, model.version)
    if not isinstance(model, str | os.PathLike):
        raise WebserviceException(
            f"{model!r} is not a model. Give Model objects, such as those of Model.list(workspace)."
        )
    text = os.fspath(model)
    if local and os.path.exists(text):
        from trainyard.sdk.models.model_files import stored

        return ModelRef(_plain(os.path.basename(os.path.abspath(text))), 0, stored(workspace, text))
    found = Model(workspace, id=text)
    return ModelRef(found.name, found.version)


def _plain(name: str) -> str:
    """A file's name as a model's."""
    text = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in name)
    return text.lstrip("._-") or "model"


def with_image(spec: VersionSpec, image_id: str, configuration: WebserviceDeploymentConfiguration) -> VersionSpec:
    """An image's models and code, run as this deployment says."""
    settings = {**configuration._settings(), "image_id": image_id}
    return replace(spec, scaling=scaling_of(configuration._given), settings=settings)
