"""A logged MLflow model as a web service of ours: registered, with an environment of what it says it needs, and a
scoring script that loads it with mlflow.pyfunc."""

from __future__ import annotations

import json
import os
import re
import tempfile
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException

from trainyard.mlflow_plugin.errors import mlflow_errors
from trainyard.sdk.environments.conda_dependencies import CondaDependencies
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.models.model import Model
from trainyard.sdk.services.aci_webservice import AciWebservice
from trainyard.sdk.services.inference_config import InferenceConfig

_SCORE = '''\
import json
import os

import numpy as np

RECORDS = {records}


def init():
    global model
    import mlflow.pyfunc

    folder = os.environ["AZUREML_MODEL_DIR"]
    while not os.path.exists(os.path.join(folder, "MLmodel")):
        (inner,) = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
        folder = inner
    model = mlflow.pyfunc.load_model(folder)


def run(raw):
    return plain(model.predict(inputs(json.loads(raw))))


def inputs(said):
    """{{"data": rows}} or {{"input_data": rows}}; rows, or columns as pandas splits them."""
    import pandas as pd

    given = said.get("data", said.get("input_data")) if isinstance(said, dict) else said
    if given is None:
        raise ValueError('send {{"data": [[...], ...]}}')
    if isinstance(given, dict) and "columns" in given:
        return pd.DataFrame(given["data"], columns=given["columns"])
    schema = model.metadata.get_input_schema()
    if schema is not None and schema.is_tensor_spec() and not schema.has_input_names():
        return np.asarray(given, dtype=schema.numpy_types()[0])
    names = schema.input_names() if schema is not None and schema.has_input_names() else None
    return pd.DataFrame(given, columns=names) if names else np.asarray(given)


def plain(found):
    if hasattr(found, "to_dict"):
        return json.loads(found.to_json(orient="records")) if hasattr(found, "columns") else found.tolist()
    found = np.asarray(found).tolist()
    if RECORDS and found and isinstance(found[0], list):
        return [{{str(at): value for at, value in enumerate(row)}} for row in found]
    return found
'''


def deploy_model(
    model_uri: str,
    workspace: Any,
    deployment_config: Any,
    service_name: str | None,
    model_name: str | None,
    tags: dict[str, str] | None,
    *,
    wait: bool,
    records: bool = False,
    overwrite: bool = False,
) -> tuple[Any, Any]:
    """(the web service, the model). `records`: rows of several numbers are answered as {column: number}."""
    name = model_name or f"{service_name or 'mlflow'}-model"
    version = mlflow.register_model(model_uri, name, tags=tags)
    with mlflow_errors():
        model = Model(workspace, name, version=int(version.version))
        configuration = deployment_config or AciWebservice.deploy_configuration()
        with tempfile.TemporaryDirectory(prefix="trainyard-score-") as folder:
            with open(os.path.join(folder, "score.py"), "w", encoding="utf-8") as file:
                file.write(_SCORE.format(records=records))
            needs = environment_of(f"{name}-scoring", model_uri)
            inference = InferenceConfig("score.py", source_directory=folder, environment=needs)
            service = Model.deploy(
                workspace, service_name or f"{name}-service", [model], inference, configuration, overwrite=overwrite
            )
        if wait:
            service.wait_for_deployment(show_output=True)
    return service, model


def configuration_of(config: dict[str, Any] | None) -> Any:
    """What `{"deploy-config-file": path}` says; without it, ACI's own values."""
    path = (config or {}).get("deploy-config-file")
    said: dict[str, Any] = {}
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                said = json.load(file)
        except (OSError, ValueError) as error:
            raise MlflowException(f"deploy-config-file {path!r} cannot be read as JSON: {error}.") from error
    kind = str(said.get("computeType", "aci")).lower()
    if kind != "aci":
        raise MlflowException(
            f"computeType is {kind!r}; through MLflow models are deployed as 'aci'. For others use Model.deploy(...)."
        )
    resources = said.get("containerResourceRequirements") or {}
    with mlflow_errors():
        return AciWebservice.deploy_configuration(
            cpu_cores=resources.get("cpu"),
            memory_gb=resources.get("memoryInGB"),
            tags=said.get("tags"),
            description=said.get("description"),
            auth_enabled=said.get("authEnabled"),
        )


def environment_of(name: str, model_uri: str) -> Environment:
    """The packages that the model was logged with. MLflow does not say which Keras they had, and what Keras 2 wrote no
    other reads."""
    from mlflow.pyfunc import get_model_dependencies

    with open(get_model_dependencies(model_uri), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    packages = [line for line in lines if line and not line.startswith(("#", "-"))]
    environment = Environment(name)
    if _is_of_keras_two(model_uri):
        environment.environment_variables = {"TF_USE_LEGACY_KERAS": "1"}
        packages.append(_keras_two_beside(packages))
    needs = CondaDependencies()
    for package in dict.fromkeys([*packages, "pandas"]):
        needs.add_pip_package(package)
    environment.python.conda_dependencies = needs
    return environment


def _is_of_keras_two(model_uri: str) -> bool:
    """What the one file says that Keras wrote: `.keras` is a zip, `.h5` can be read where h5py is."""
    with tempfile.TemporaryDirectory(prefix="trainyard-keras-") as folder:
        for file, version_in in (("model.keras", _version_in_zip), ("model.h5", _version_in_hdf5)):
            try:
                at = mlflow.artifacts.download_artifacts(f"{model_uri}/data/{file}", dst_path=folder)
            except (MlflowException, OSError):
                continue  # there is none
            return version_in(at).startswith("2.")
    return False


def _version_in_zip(path: str) -> str:
    import zipfile

    try:
        with zipfile.ZipFile(path) as file:
            return str(json.loads(file.read("metadata.json")).get("keras_version", ""))
    except (zipfile.BadZipFile, KeyError, ValueError):
        return ""


def _version_in_hdf5(path: str) -> str:
    import importlib

    try:
        h5py: Any = importlib.import_module("h5py")
    except ImportError:
        return ""
    with h5py.File(path) as file:
        said = file.attrs.get("keras_version", "")
    return said.decode() if isinstance(said, bytes) else str(said)


def _keras_two_beside(packages: list[str]) -> str:
    """The release of tf-keras that goes with the TensorFlow among them."""
    pins = [re.match(r"tensorflow(?:-cpu)?\s*==\s*(\d+\.\d+)\.", line) for line in packages]
    found = next((pin[1] for pin in pins if pin), None)
    return f"tf-keras=={found}.*" if found else "tf-keras"
