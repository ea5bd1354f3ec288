"""Re-exports: see trainyard.sdk.data.data_reference."""

from trainyard.sdk.data.data_reference import DataPath as DataPath
from trainyard.sdk.data.data_reference import DataPathComputeBinding as DataPathComputeBinding
