"""The images of 2018: models, a script and an environment, put together before they are deployed."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from trainyard.contract.endpoints import CodeSpec, ImageRecord, NewImage, OperationState, VersionSpec
from trainyard.contract.names import new_id
from trainyard.contract.service import API
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import AzureMLException, WebserviceException
from trainyard.sdk.labels import as_names, as_properties, as_tags
from trainyard.sdk.models.model_labels import wanted_labels
from trainyard.sdk.services.inference_config import RUNTIMES, check_script, environment_spec, files, relax_pins

if TYPE_CHECKING:
    from trainyard.sdk.models.model import Model
    from trainyard.sdk.services.webservice import Webservice
    from trainyard.sdk.workspace import Workspace

_LOOK_S = 0.2
_DOT_S = 2.0


class ContainerImageConfig:
    """What an image is made of: a script in the current folder and what lies beside it."""

    def __init__(
        self,
        execution_script: str,
        runtime: str,
        conda_file: str | None = None,
        docker_file: str | None = None,
        schema_file: str | None = None,
        dependencies: list[str] | None = None,
        enable_gpu: bool | None = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        description: str | None = None,
        base_image: str | None = None,
        base_image_registry: Any = None,
        cuda_version: str | None = None,
    ) -> None:
        self.execution_script = execution_script
        self.runtime = runtime
        self.conda_file = conda_file
        self.docker_file = docker_file
        self.schema_file = schema_file
        self.dependencies = dependencies
        self.enable_gpu = enable_gpu
        self.tags = tags
        self.properties = properties
        self.description = description
        self.base_image = base_image
        self.base_image_registry = base_image_registry
        self.cuda_version = cuda_version
        self.validate_configuration()

    def validate_configuration(self) -> None:
        """WebserviceException says what is wrong."""
        if str(self.runtime).lower() not in RUNTIMES:
            raise WebserviceException(f"{self.runtime!r} is no runtime. Use one of {', '.join(RUNTIMES)}.")
        if str(self.runtime).lower().startswith("spark"):
            raise WebserviceException("Trainyard serves Python, not Spark. Use runtime='python'.")
        script = os.path.normpath(self.execution_script)
        if os.path.dirname(script):
            raise WebserviceException(
                f"Unable to use {self.execution_script}: the execution script must be in the current directory. Change "
                "to its folder first."
            )
        check_script(script)
        for path in [*(self.dependencies or ()), *filter(None, (self.conda_file, self.schema_file))]:
            if not os.path.exists(path):
                raise WebserviceException(f"There is no file {os.path.abspath(path)}. Check the path.")
        no_effect(
            "ContainerImage.image_configuration",
            docker_file=self.docker_file,
            enable_gpu=self.enable_gpu or None,
            base_image=self.base_image,
            base_image_registry=self.base_image_registry,
            cuda_version=self.cuda_version,
        )

    def _code(self, workspace: Workspace) -> CodeSpec:
        from trainyard.sdk.environments.environment import Environment

        self.validate_configuration()
        beside = [self.execution_script, *(self.dependencies or ()), *filter(None, (self.schema_file,))]
        content = files(workspace, beside)
        environment = Environment("scoring")
        if self.conda_file is not None:
            environment = Environment.from_conda_specification("scoring", self.conda_file)
        script = os.path.abspath(self.execution_script)
        spec = environment_spec(environment, script)
        return CodeSpec(content, os.path.basename(script), spec, relax_pins(), script)


class Image:
    """Image(workspace, name or id) is the newest image that fits."""

    def __new__(cls, workspace: Workspace, *args: Any, **kwargs: Any) -> Image:
        del workspace, args, kwargs
        return object.__new__(ContainerImage)

    def __init__(
        self,
        workspace: Workspace,
        name: str | None = None,
        id: str | None = None,
        tags: Any = None,
        properties: Any = None,
        version: int | str | None = None,
        *,
        _record: ImageRecord | None = None,
    ) -> None:
        self.workspace = workspace
        if _record is None and id is not None:
            name, _, version = id.partition(":")
        if _record is None:
            _record = _find(workspace, name, version, tags, properties)
        self._take(_record)

    @staticmethod
    def create(workspace: Workspace, name: str, models: Any, image_config: Any) -> Image:
        """Starts making it; wait_for_creation() waits for it."""
        from trainyard.sdk.services.deploy import as_users, model_refs

        if not isinstance(image_config, ContainerImageConfig):
            raise WebserviceException("image_config must be what ContainerImage.image_configuration(...) answered.")
        settings = {"dependencies": [os.path.abspath(path) for path in image_config.dependencies or ()]}
        spec = VersionSpec(model_refs(workspace, models), image_config._code(workspace), settings=settings)
        new = NewImage(
            name=name,
            version=spec,
            request_id=new_id(),
            tags=as_tags(image_config.tags),
            properties=as_properties(image_config.properties),
            description=image_config.description,
        )
        print("Creating image")
        try:
            return Image(workspace, _record=workspace._clients.images.create(new))
        except AzureMLException as error:
            raise as_users(error) from error

    @staticmethod
    def image_configuration(*args: Any, **kwargs: Any) -> ContainerImageConfig:
        return ContainerImageConfig(*args, **kwargs)

    def wait_for_creation(self, show_output: bool = False) -> None:
        """Returns when it is made; WebserviceException if that failed."""
        say = sys.stdout.write if show_output else _say_nothing
        say("Running")
        dotted = time.monotonic()
        while self._record.state is OperationState.RUNNING:
            time.sleep(_LOOK_S)
            self.update_creation_state()
            if time.monotonic() - dotted > _DOT_S:
                say(".")
                dotted = time.monotonic()
        say(f"\n{self.creation_state}\n")
        say(f'Image creation operation finished for image {self.id}, operation "{self.creation_state}"\n')
        if self._record.state is OperationState.FAILED:
            raise WebserviceException(f"The image {self.id} was not made: {self._record.error}")

    def update_creation_state(self) -> None:
        self._take(self.workspace._clients.images.get(self.name, self.version))

    def add_tags(self, tags: dict[str, Any]) -> None:
        self._change("tags", {**self.tags, **as_tags(tags)})

    def remove_tags(self, tags: Any) -> None:
        gone = as_names(tags)
        self._change("tags", {key: value for key, value in self.tags.items() if key not in gone})

    def add_properties(self, properties: dict[str, Any]) -> None:
        self._change("properties", {**self.properties, **as_properties(properties)})

    def update(self, tags: dict[str, Any]) -> None:
        self._change("tags", dict(as_tags(tags)))

    def delete(self) -> None:
        """Services that were made from it go on."""
        self.workspace._clients.images.delete(self.name, self.version)

    def run(self, input_data: Any) -> Any:
        raise WebserviceException(
            "An image answers nothing by itself. Deploy it: Webservice.deploy_from_image(workspace, name, image) with "
            f"LocalWebservice.deploy_configuration(), and send {type(input_data).__name__} data to that."
        )

    def serialize(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "tags": self.tags,
            "properties": self.properties,
            "creationState": self.creation_state,
            "createdTime": self.created_time.isoformat(),
            "imageType": self.image_type,
            "imageFlavor": self.image_flavor,
            "modelIds": self.model_ids,
            "driverProgram": self.driver_program,
            "targetRuntime": self.target_runtime,
        }

    @classmethod
    def deserialize(cls, workspace: Workspace, image_payload: dict[str, Any]) -> Image:
        return Image(workspace, id=image_payload["id"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name}, version={self.version}, creation_state={self.creation_state})"

    def _change(self, what: str, values: dict[str, str | None]) -> None:
        self._take(self.workspace._clients.images.change(self.name, self.version, {what: values}))

    def _take(self, record: ImageRecord) -> None:
        self._record = record
        self.name, self.version, self.id = record.name, record.version, record.id
        self.creation_state, self.description = record.state.value, record.description
        self.tags, self.properties = dict(record.tags), dict(record.properties)
        self.created_time = datetime.fromtimestamp(record.created_ns / 1e9, UTC)
        self.model_ids = [f"{model.name}:{model.version}" for model in record.spec.models]
        self.image_type, self.image_flavor, self.target_runtime = "Docker", "WebApiContainer", {"runtimeType": "Python"}
        self.driver_program = record.spec.code.entry_script if record.spec.code else None
        self.assets: list[Any] = []
        url = self.workspace._connection.http.url
        self.image_location = f"{url}/images/{record.name}:{record.version}"
        builds = f"{url}{API}/workspaces/{record.workspace_id}/environment-builds"
        self.image_build_log_uri = f"{builds}/{record.build_id}/log" if record.build_id else None

    @property
    def models(self) -> list[Model]:
        from trainyard.sdk.models.model import Model

        return [Model(self.workspace, id=model_id) for model_id in self.model_ids]

    # last: below it `list` would mean this method

    @staticmethod
    def list(
        workspace: Workspace,
        image_name: str | None = None,
        model_name: str | None = None,
        model_id: str | None = None,
        tags: Any = None,
        properties: Any = None,
    ) -> list[Image]:
        """The newest first."""
        found = [Image(workspace, _record=it) for it in _fitting(workspace, image_name, tags, properties)]
        names = [{it.partition(":")[0] for it in image.model_ids} for image in found]
        return [
            image
            for image, of in zip(found, names, strict=True)
            if (model_name is None or model_name in of) and (model_id is None or model_id in image.model_ids)
        ]


class ContainerImage(Image):
    pass


def deploy_image(
    workspace: Workspace, name: str, image: Image, deployment_config: Any, deployment_target: Any, overwrite: bool
) -> Webservice:
    from trainyard.sdk.services.deploy import _configuration, _target_name, create, with_image
    from trainyard.sdk.services.deploy_configurations import service_name

    if not isinstance(image, Image):
        raise WebserviceException(f"{image!r} is not an image. Give what Image.create(...) answered.")
    image.update_creation_state()
    if image._record.state is OperationState.FAILED:
        raise WebserviceException(f"The image {image.id} was not made: {image._record.error}")
    configuration = _configuration(deployment_config, deployment_target)
    spec = with_image(image._record.spec, image.id, configuration)
    target = _target_name(deployment_target)
    return create(workspace, configuration._new_service(service_name(name), spec, overwrite, target))


def _find(workspace: Workspace, name: str | None, version: Any, tags: Any, properties: Any) -> ImageRecord:
    for record in _fitting(workspace, name, tags, properties):
        if version in (None, "") or record.version == int(version):
            return record
    said = f"{name}:{version}" if version else str(name)
    raise WebserviceException(f"ImageNotFound: no image {said} in this workspace. Image.list(workspace) shows them.")


def _fitting(workspace: Workspace, name: str | None, tags: Any, properties: Any) -> list[ImageRecord]:
    def has(labels: dict[str, Any], wanted: Any) -> bool:
        pairs = wanted_labels(wanted)
        return all(pair[0] in labels and (len(pair) == 1 or labels[pair[0]] == pair[1]) for pair in pairs)

    found = workspace._clients.images.list(name)
    return [it for it in found if has(it.tags, tags) and has(it.properties, properties)]


def _say_nothing(text: str) -> int:
    return len(text)
