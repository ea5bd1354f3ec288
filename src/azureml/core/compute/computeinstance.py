"""Re-export: see trainyard.sdk.computes.instance."""

from trainyard.sdk.computes.instance import ComputeInstance as ComputeInstance
from trainyard.sdk.computes.instance import ComputeInstanceStatus as ComputeInstanceStatus
