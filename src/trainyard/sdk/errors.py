"""The SDK's exceptions, and the one table that says which of them each error of ours becomes.

AzureMLException
├── TrainingException              ├── RunConfigurationException
├── ExperimentExecutionException   ├── WebserviceException
├── ProjectSystemException         ├── ModelNotFoundException
├── SnapshotException              ├── ModelPathNotFoundException
├── RunEnvironmentException        ├── DiscoveryUrlNotFoundException
├── WorkspaceException             ├── ActivityFailedException
├── ComputeTargetException         ├── ActivityCanceledException
├── UserErrorException             ├── DatasetTimestampMissingError
│   └── AuthenticationException    ├── ParallelRunException
└── ServiceException
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from trainyard.contract.errors import TrainyardError


class AzureMLException(Exception):
    """Root of the SDK's exceptions. They show themselves under the name that users import them by."""

    __module__ = "azureml.exceptions"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__:
            cls.__module__ = "azureml.exceptions"

    def __init__(self, exception_message: str = "", inner_exception: BaseException | None = None) -> None:
        super().__init__(exception_message)
        self.message = exception_message
        self.inner_exception = inner_exception


class TrainingException(AzureMLException):
    pass


class ExperimentExecutionException(AzureMLException):
    pass


class ProjectSystemException(AzureMLException):
    pass


class SnapshotException(AzureMLException):
    pass


class RunEnvironmentException(AzureMLException):
    pass


class WorkspaceException(AzureMLException):
    pass


class ComputeTargetException(AzureMLException):
    pass


class UserErrorException(AzureMLException):
    pass


class AuthenticationException(UserErrorException):
    pass


class RunConfigurationException(AzureMLException):
    pass


class WebserviceException(AzureMLException):
    pass


class ModelNotFoundException(AzureMLException):
    pass


class ModelPathNotFoundException(AzureMLException):
    pass


class DiscoveryUrlNotFoundException(AzureMLException):
    pass


class ActivityFailedException(AzureMLException):
    """A run failed. `error_details` is the JSON text of what get_details()['error'] says."""

    def __init__(
        self,
        error_details: str = "",
        inner_exception: BaseException | None = None,
        exception_message: str | None = None,
    ) -> None:
        super().__init__(exception_message or f"Activity Failed:\n{error_details}", inner_exception)
        self.error_details = error_details


class ActivityCanceledException(AzureMLException):
    pass


class DatasetTimestampMissingError(AzureMLException):
    pass


class DatasetValidationError(UserErrorException):
    """What a dataset was to be made of is not there or cannot be read."""

    __module__ = "azureml.data.dataset_error_handling"


class DatasetExecutionError(UserErrorException):
    __module__ = "azureml.data.dataset_error_handling"


class ParallelRunException(AzureMLException):
    pass


class ServiceException(AzureMLException):
    pass


# By the first word of the code; what is not here is a ServiceException.
_BECOMES: dict[str, type[AzureMLException]] = {
    "request": UserErrorException,
    "workspace": WorkspaceException,
    "compute": ComputeTargetException,
    "backend": ComputeTargetException,
    "file": UserErrorException,
    "environment": UserErrorException,
    "auth": AuthenticationException,
    "secret": UserErrorException,
    "snapshot": SnapshotException,
    "data": UserErrorException,
    "datastore": UserErrorException,
    "dataset": UserErrorException,
    "model": WebserviceException,
    "webservice": WebserviceException,
}


_EXACTLY: dict[str, type[AzureMLException]] = {"model.path": ModelPathNotFoundException}


def translated(error: TrainyardError) -> AzureMLException:
    """The SDK's exception for an error of ours, which it keeps as `inner_exception`."""
    kind = _EXACTLY.get(error.code) or _BECOMES.get(error.code.partition(".")[0], ServiceException)
    return kind(error.message, error)


@contextlib.contextmanager
def sdk_errors() -> Iterator[None]:
    """Errors of ours leave this block as the SDK's."""
    try:
        yield
    except TrainyardError as error:
        raise translated(error) from error


def code_of(error: AzureMLException) -> str | None:
    """The code of the error of ours behind an SDK exception."""
    inner = error.inner_exception
    return inner.code if isinstance(inner, TrainyardError) else None
