"""Model: a registered model, one version of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from trainyard.contract.models import LATEST, Framework, ModelChange, ModelQuery, ModelRecord, ModelSource, NewModel
from trainyard.sdk.errors import WebserviceException
from trainyard.sdk.labels import as_names, as_properties, as_tags
from trainyard.sdk.models.model_labels import dataset_id, dataset_of_id, dataset_pairs, wanted_labels
from trainyard.sdk.models.resource_configuration import ResourceConfiguration, as_record

if TYPE_CHECKING:
    from trainyard.sdk.models.model_package import ModelPackage
    from trainyard.sdk.models.model_profile import ModelProfile
    from trainyard.sdk.runs.run import Run
    from trainyard.sdk.services.webservice import Webservice
    from trainyard.sdk.workspace import Workspace


class _Frameworks:
    CUSTOM = Framework.CUSTOM.value
    TENSORFLOW = Framework.TENSORFLOW.value
    SCIKITLEARN = Framework.SCIKITLEARN.value
    ONNX = Framework.ONNX.value
    TFKERAS = Framework.TFKERAS.value
    PYTORCH = Framework.PYTORCH.value
    MULTI = Framework.MULTI.value
    XGBOOST = Framework.XGBOOST.value
    LIGHTGBM = Framework.LIGHTGBM.value


class Model:
    Framework = _Frameworks

    def __init__(
        self,
        workspace: Workspace,
        name: str | None = None,
        id: str | None = None,
        tags: Any = None,
        properties: Any = None,
        version: int | str | None = None,
        run_id: str | None = None,
        model_framework: str | None = None,
        expand: bool = True,
        alias: str | None = None,
        *,
        _record: ModelRecord | None = None,
        **kwargs: Any,
    ) -> None:
        """The newest version that fits. `alias` (`champion`, `latest`) is one of Trainyard's own words."""
        del expand, kwargs  # everything there is to a model comes at once
        self.workspace = workspace
        if _record is None and id is not None:
            _record = workspace._clients.models.get(id)
        elif _record is None:
            if name is None and not (tags or properties or run_id or model_framework):
                raise WebserviceException(
                    "Model(workspace, ...) needs a name or an id, or tags, properties or a run_id."
                )
            query = ModelQuery(
                name=name,
                version=_version(version),
                alias=alias,
                tags=wanted_labels(tags),
                properties=wanted_labels(properties),
                run_id=run_id,
                framework=model_framework,
            )
            _record = workspace._clients.models.find(query)
        self._take(_record)

    # Registering and finding

    @staticmethod
    def register(
        workspace: Workspace,
        model_path: str,
        model_name: str,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        description: str | None = None,
        datasets: Any = None,
        model_framework: str | None = None,
        model_framework_version: str | None = None,
        child_paths: list[str] | None = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: ResourceConfiguration | None = None,
        **kwargs: Any,
    ) -> Model:
        """The next version of that name, from a file or a folder here, or from a run's artifact by its address."""
        from trainyard.sdk.models.model_files import source_of
        from trainyard.sdk.models.registering import new_model

        del kwargs
        new = new_model(
            workspace,
            model_name,
            ModelSource(),
            tags=tags,
            properties=properties,
            description=description,
            datasets=datasets,
            model_framework=model_framework,
            model_framework_version=model_framework_version,
            sample_input_dataset=sample_input_dataset,
            sample_output_dataset=sample_output_dataset,
            resource_configuration=resource_configuration,
        )
        print(f"Registering model {model_name}")
        return Model._registered(workspace, replace(new, source=source_of(workspace, model_path, child_paths)))

    @staticmethod
    def get_model_path(model_name: str, version: int | None = None, _workspace: Workspace | None = None) -> str:
        """Where the model is on this machine: in a scoring script, in a job (fetched if need be), or on a laptop."""
        from trainyard.sdk.models.model_files import model_path_here

        return model_path_here(model_name, _version(version), _workspace)

    # Itself

    @property
    def run(self) -> Run | None:
        """The run it was registered from."""
        from trainyard.sdk.runs.run import Run

        return Run.get(self.workspace, self.run_id) if self.run_id is not None else None

    @property
    def datasets(self) -> dict[str, list[Any]]:
        """What it was registered with, by purpose."""
        found: dict[str, list[Any]] = {}
        for purpose, dataset in self._record.datasets:
            found.setdefault(purpose, []).append(dataset_of_id(self.workspace, dataset))
        return found

    @property
    def sample_input_dataset(self) -> Any:
        return dataset_of_id(self.workspace, self._record.sample_input_dataset)

    @property
    def sample_output_dataset(self) -> Any:
        return dataset_of_id(self.workspace, self._record.sample_output_dataset)

    def download(self, target_dir: str = ".", exist_ok: bool = False, exists_ok: bool | None = None) -> str:
        """Writes its files below `target_dir`; answers the path of its file or folder."""
        from trainyard.sdk.models.model_files import lay_out

        return lay_out(self, target_dir, exist_ok if exists_ok is None else exists_ok)

    def update(
        self,
        tags: dict[str, Any] | None = None,
        description: str | None = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: ResourceConfiguration | None = None,
    ) -> None:
        """Tags given here replace those it has."""
        self._change(
            ModelChange(
                replace_tags=as_tags(tags) if tags is not None else None,
                description=description,
                sample_input_dataset=dataset_id(self.workspace, sample_input_dataset, "sample_input_dataset"),
                sample_output_dataset=dataset_id(self.workspace, sample_output_dataset, "sample_output_dataset"),
                resources=as_record(resource_configuration),
            )
        )

    def add_tags(self, tags: dict[str, Any]) -> None:
        self._change(ModelChange(set_tags=as_tags(tags)))

    def remove_tags(self, tags: Any) -> None:
        self._change(ModelChange(remove_tags=as_names(tags)))

    def add_properties(self, properties: dict[str, Any]) -> None:
        """Properties are written once: a second value for one is refused."""
        self._change(ModelChange(add_properties=as_properties(properties)))

    def update_tags_properties(
        self, add_tags: dict[str, Any] | None = None, remove_tags: Any = None, add_properties: Any = None
    ) -> None:
        self._change(
            ModelChange(
                set_tags=as_tags(add_tags),
                remove_tags=as_names(remove_tags or ()),
                add_properties=as_properties(add_properties),
            )
        )

    def add_dataset_references(self, datasets: Any) -> None:
        self._change(ModelChange(add_datasets=dataset_pairs(self.workspace, datasets)))

    def set_alias(self, alias: str) -> None:
        """Puts the alias on this version, and takes it off the one that had it. Not in the original SDK."""
        self._take(self.workspace._clients.models.set_alias(self.id, alias))

    def remove_alias(self, alias: str) -> None:
        self._take(self.workspace._clients.models.remove_alias(self.id, alias))

    def delete(self) -> None:
        """Refused while it is deployed."""
        self.workspace._clients.models.delete(self.id)

    def get_sas_urls(self) -> dict[str, str]:
        """Name of each file → where a program that has a token of this service reads it."""
        from trainyard.sdk.models.model_files import addresses

        return addresses(self)

    def serialize(self) -> dict[str, Any]:
        from trainyard.sdk.models.model_files import serialized

        return serialized(self)

    @staticmethod
    def deserialize(workspace: Workspace, model_payload: dict[str, Any]) -> Model:
        """The model that serialize() told of, as it is now."""
        if "id" not in model_payload:
            raise WebserviceException("A serialized model has an id. Pass what serialize() answered.")
        return Model(workspace, id=model_payload["id"])

    def __repr__(self) -> str:
        return (
            f"Model(workspace={self.workspace!r}, name={self.name}, id={self.id}, version={self.version}, "
            f"tags={self.tags}, properties={self.properties})"
        )

    # Deploying

    @staticmethod
    def deploy(
        workspace: Workspace,
        name: str,
        models: Any,
        inference_config: Any = None,
        deployment_config: Any = None,
        deployment_target: Any = None,
        overwrite: bool = False,
        show_output: bool = False,
    ) -> Webservice:
        """A web service of these models; without an `inference_config`, of the one model as its framework serves it."""
        from trainyard.sdk.services.deploy import deploy

        made = deploy(workspace, name, models, inference_config, deployment_config, deployment_target, overwrite)
        if show_output:
            made.wait_for_deployment(show_output=True)
        return made

    @staticmethod
    def package(
        workspace: Workspace,
        models: Any,
        inference_config: Any = None,
        generate_dockerfile: bool = False,
        image_name: str | None = None,
        image_label: str | None = None,
    ) -> ModelPackage:
        """Everything a container of this service needs, to be saved as a folder with a Dockerfile."""
        from trainyard.sdk.models.model_package import package

        return package(workspace, models, inference_config, generate_dockerfile, image_name, image_label)

    @staticmethod
    def profile(
        workspace: Workspace,
        profile_name: str,
        models: Any,
        inference_config: Any,
        input_dataset: Any,
        cpu: float | None = None,
        memory_in_gb: float | None = None,
        description: str | None = None,
    ) -> ModelProfile:
        """Deploys the models here for a while, sends them what `input_dataset` holds, and measures."""
        from trainyard.sdk.models.model_profile import start

        return start(workspace, profile_name, models, inference_config, input_dataset, cpu, memory_in_gb, description)

    @staticmethod
    def print_configuration(models: Any, inference_config: Any, deployment_config: Any, deployment_target: Any) -> None:
        """What a deployment of this would be made of."""
        from trainyard.sdk.services.deploy import described

        print(described(models, inference_config, deployment_config, deployment_target))

    @staticmethod
    def _registered(workspace: Workspace, new: NewModel) -> Model:
        return Model(workspace, _record=workspace._clients.models.register(new))

    def _change(self, wish: ModelChange) -> None:
        self._take(self.workspace._clients.models.change(self.id, wish))

    def _take(self, record: ModelRecord) -> None:
        self._record = record
        self.name, self.version, self.id = record.name, record.version, record.id
        self.description = record.description
        self.tags, self.properties = dict(record.tags), dict(record.properties)
        self.model_framework, self.model_framework_version = record.framework, record.framework_version
        self.created_by = record.created_by
        self.created_time = datetime.fromtimestamp(record.created_ns / 1e9, UTC)
        self.run_id = record.lineage.run_id if record.lineage else None
        self.experiment_name = record.lineage.experiment if record.lineage else None
        self.resource_configuration = ResourceConfiguration._of(record.resources)
        self.aliases = list(record.aliases)
        self.url = f"aml://asset/{record.id}"
        self.mime_type = "application/json" if record.files > 1 else "application/octet-stream"
        self.unpack = record.files > 1
        self.parent_id: str | None = None
        self.derived_model_ids: list[str] = []

    # last: below it `list` would mean this method

    @staticmethod
    def list(
        workspace: Workspace,
        name: str | None = None,
        tags: Any = None,
        properties: Any = None,
        run_id: str | None = None,
        latest: bool = False,
        dataset_id: str | None = None,
        expand: bool = True,
        page_count: int = 255,
        model_framework: str | None = None,
    ) -> list[Model]:
        """The newest first; a filter is a list of keys and [key, value] pairs."""
        del expand
        query = ModelQuery(
            name=name,
            tags=wanted_labels(tags),
            properties=wanted_labels(properties),
            run_id=run_id,
            framework=model_framework,
            dataset_id=dataset_id,
            latest=latest,
            limit=page_count,
        )
        return [Model(workspace, _record=record) for record in workspace._clients.models.find_all(query)]


def _version(given: Any) -> int | None:
    if given is None or given == LATEST:
        return None
    try:
        return int(given)
    except (TypeError, ValueError) as error:
        raise WebserviceException(f"{given!r} is no version of a model: those are 1, 2, … .", error) from error
