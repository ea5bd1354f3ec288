"""azureml.mlflow: the package of that name brought MLflow's plug-ins; here they come with trainyard[mlflow]."""

from trainyard.sdk.runs.mlflow_names import get_portal_url, register_model
from trainyard.sdk.version import SDK_VERSION

VERSION = __version__ = SDK_VERSION
