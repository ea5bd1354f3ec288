"""Re-exports: see trainyard.sdk.hyperdrive.config."""

from trainyard.sdk.hyperdrive.config import MAX_DURATION_MINUTES as MAX_DURATION_MINUTES
from trainyard.sdk.hyperdrive.config import HyperDriveConfig as HyperDriveConfig
from trainyard.sdk.hyperdrive.config import HyperDriveRunConfig as HyperDriveRunConfig
from trainyard.sdk.hyperdrive.config import PrimaryMetricGoal as PrimaryMetricGoal

__all__ = [
    "MAX_DURATION_MINUTES",
    "HyperDriveConfig",
    "HyperDriveRunConfig",
    "PrimaryMetricGoal",
]
