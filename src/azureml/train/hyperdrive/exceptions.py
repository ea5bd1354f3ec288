"""Re-exports: see trainyard.sdk.hyperdrive.errors."""

from trainyard.sdk.hyperdrive.errors import HyperDriveConfigException as HyperDriveConfigException
from trainyard.sdk.hyperdrive.errors import HyperDriveNotImplementedException as HyperDriveNotImplementedException
from trainyard.sdk.hyperdrive.errors import HyperDriveRehydrateException as HyperDriveRehydrateException
from trainyard.sdk.hyperdrive.errors import (
    HyperDriveScenarioNotSupportedException as HyperDriveScenarioNotSupportedException,
)

__all__ = [
    "HyperDriveConfigException",
    "HyperDriveNotImplementedException",
    "HyperDriveRehydrateException",
    "HyperDriveScenarioNotSupportedException",
]
