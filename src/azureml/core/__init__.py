"""The names of azureml.core that this version of Trainyard has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainyard.sdk.version import SDK_VERSION

if TYPE_CHECKING:
    from trainyard.sdk.computes.compute import ComputeTarget as ComputeTarget
    from trainyard.sdk.data.dataset import Dataset as Dataset
    from trainyard.sdk.data.datastore import Datastore as Datastore
    from trainyard.sdk.environments.container_registry import ContainerRegistry as ContainerRegistry
    from trainyard.sdk.environments.environment import Environment as Environment
    from trainyard.sdk.experiment import Experiment as Experiment
    from trainyard.sdk.keyvault import Keyvault as Keyvault
    from trainyard.sdk.models.model import Model as Model
    from trainyard.sdk.runs.run import Run as Run
    from trainyard.sdk.runs.run import get_run as get_run
    from trainyard.sdk.runs.script_run import ScriptRun as ScriptRun
    from trainyard.sdk.services.image import Image as Image
    from trainyard.sdk.services.webservice import Webservice as Webservice
    from trainyard.sdk.submitting.runconfig import RunConfiguration as RunConfiguration
    from trainyard.sdk.submitting.script_run_config import ScriptRunConfig as ScriptRunConfig
    from trainyard.sdk.workspace import Workspace as Workspace

VERSION = __version__ = SDK_VERSION

# A name is imported when it is first used: a training script that wants Run does not pay for the rest.
_HERE = {
    "ComputeTarget": "computes.compute",
    "ContainerRegistry": "environments.container_registry",
    "Dataset": "data.dataset",
    "Datastore": "data.datastore",
    "Environment": "environments.environment",
    "Experiment": "experiment",
    "Image": "services.image",
    "Keyvault": "keyvault",
    "Model": "models.model",
    "Run": "runs.run",
    "RunConfiguration": "submitting.runconfig",
    "ScriptRun": "runs.script_run",
    "ScriptRunConfig": "submitting.script_run_config",
    "Webservice": "services.webservice",
    "Workspace": "workspace",
    "get_run": "runs.run",
}
__all__ = ["VERSION", *_HERE]


def __getattr__(name: str) -> Any:
    if name in _HERE:
        import importlib

        found = globals()[name] = getattr(importlib.import_module(f"trainyard.sdk.{_HERE[name]}"), name)
        return found
    raise AttributeError(f"module 'azureml.core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HERE})
