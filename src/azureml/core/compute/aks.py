"""Re-exports: see trainyard.sdk.computes.aks_compute."""

from trainyard.sdk.computes.aks_compute import AksCompute as AksCompute
from trainyard.sdk.computes.aks_compute import AksProvisioningConfiguration as AksProvisioningConfiguration
