"""Re-exports: see trainyard.sdk.computes.amlcompute."""

from trainyard.sdk.computes.amlcompute import AmlCompute as AmlCompute
from trainyard.sdk.computes.amlcompute import AmlComputeProvisioningConfiguration as AmlComputeProvisioningConfiguration
from trainyard.sdk.computes.amlcompute_status import AmlComputeNodeStateCounts as AmlComputeNodeStateCounts
from trainyard.sdk.computes.amlcompute_status import AmlComputeStatus as AmlComputeStatus
from trainyard.sdk.computes.amlcompute_status import ScaleSettings as ScaleSettings
