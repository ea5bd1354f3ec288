"""Our errors, as MLflow's users know errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mlflow.exceptions import MlflowException

from trainyard.contract.errors import TrainyardError
from trainyard.sdk.errors import AzureMLException


@contextlib.contextmanager
def mlflow_errors() -> Iterator[None]:
    try:
        yield
    except TrainyardError as error:
        raise MlflowException(error.message) from error
    except AzureMLException as error:
        raise MlflowException(error.message) from error
