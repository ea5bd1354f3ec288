"""MLflow's tracking and registry stores for `azureml://…` addresses of ours: its own REST clients, told where and with
which token, anew for each request."""

from __future__ import annotations

from functools import partial
from typing import Any

from mlflow.store.model_registry.rest_store import RestStore as RegistryStore
from mlflow.store.tracking.rest_store import RestStore as TrackingStore
from mlflow.utils.rest_utils import MlflowHostCreds

from trainyard.mlflow_plugin import old_names
from trainyard.mlflow_plugin.access import reach
from trainyard.mlflow_plugin.errors import mlflow_errors

old_names.offer()


def credentials(uri: str) -> MlflowHostCreds:
    with mlflow_errors():
        url, token = reach(uri)
    return MlflowHostCreds(host=url, token=token)


def tracking_store(store_uri: str | None = None, artifact_uri: str | None = None, **_: Any) -> TrackingStore:
    del artifact_uri  # files lie with the service
    return TrackingStore(partial(credentials, str(store_uri)))


def registry_store(store_uri: str | None = None, tracking_uri: str | None = None, **_: Any) -> RegistryStore:
    del tracking_uri
    return RegistryStore(partial(credentials, str(store_uri)))
