"""Re-exports: see trainyard.sdk.hyperdrive.run."""

from trainyard.sdk.hyperdrive.config import PrimaryMetricGoal as PrimaryMetricGoal
from trainyard.sdk.hyperdrive.run import HyperDriveRun as HyperDriveRun

__all__ = ["HyperDriveRun", "PrimaryMetricGoal"]
