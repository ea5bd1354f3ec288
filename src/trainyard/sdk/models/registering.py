"""What is sent to register a model, everything checked that can be checked here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainyard.contract.models import Framework, ModelSource, NewModel
from trainyard.contract.names import check_name, new_id
from trainyard.sdk.errors import AzureMLException, WebserviceException, sdk_errors
from trainyard.sdk.labels import as_properties, as_tags
from trainyard.sdk.models.model_labels import dataset_id, dataset_pairs
from trainyard.sdk.models.resource_configuration import as_record

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


def new_model(
    workspace: Workspace,
    name: str,
    source: ModelSource,
    *,
    tags: Any = None,
    properties: Any = None,
    description: str | None = None,
    datasets: Any = None,
    model_framework: str | None = None,
    model_framework_version: str | None = None,
    sample_input_dataset: Any = None,
    sample_output_dataset: Any = None,
    resource_configuration: Any = None,
) -> NewModel:
    try:
        with sdk_errors():
            check_name("a model", name)
    except AzureMLException as error:
        raise WebserviceException(error.message, error.inner_exception) from error
    if model_framework_version is not None and model_framework is None:
        raise WebserviceException("model_framework_version says little without model_framework. Give both, or neither.")
    if model_framework is not None and model_framework not in set(Framework):
        raise WebserviceException(
            f"{model_framework!r} is no model framework. Use one of Model.Framework: {', '.join(Framework)}."
        )
    return NewModel(
        name=name,
        source=source,
        request_id=new_id(),
        framework=model_framework,
        framework_version=str(model_framework_version) if model_framework_version is not None else None,
        description=description,
        tags=as_tags(tags),
        properties=as_properties(properties),
        resources=as_record(resource_configuration),
        sample_input_dataset=dataset_id(workspace, sample_input_dataset, "sample_input_dataset"),
        sample_output_dataset=dataset_id(workspace, sample_output_dataset, "sample_output_dataset"),
        datasets=dataset_pairs(workspace, datasets),
    )
