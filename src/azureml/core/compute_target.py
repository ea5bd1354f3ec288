"""Re-exports: see trainyard.sdk.computes.compute."""

from trainyard.sdk.computes.compute import ComputeTarget as ComputeTarget
from trainyard.sdk.errors import ComputeTargetException as ComputeTargetException
