"""HyperDrive's own exceptions, and how errors of ours become them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from trainyard.contract.errors import InvalidSweep
from trainyard.sdk.errors import AzureMLException, UserErrorException

_SHOWN_AS = "azureml.train.hyperdrive.exceptions"


class HyperDriveConfigException(UserErrorException):
    __module__ = _SHOWN_AS


class HyperDriveScenarioNotSupportedException(AzureMLException):
    __module__ = _SHOWN_AS


class HyperDriveNotImplementedException(AzureMLException):
    __module__ = _SHOWN_AS


class HyperDriveRehydrateException(AzureMLException):
    __module__ = _SHOWN_AS


@contextlib.contextmanager
def config_errors() -> Iterator[None]:
    """A sweep that makes no sense leaves this block as the SDK's exception, wherever it was found out."""
    try:
        yield
    except InvalidSweep as error:
        raise HyperDriveConfigException(error.message, error) from error
    except UserErrorException as error:
        if isinstance(error.inner_exception, InvalidSweep):
            raise HyperDriveConfigException(error.message, error.inner_exception) from error
        raise
