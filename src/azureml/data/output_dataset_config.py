"""Re-exports: see trainyard.sdk.data.output_dataset."""

from trainyard.sdk.data.output_dataset import OutputFileDatasetConfig as OutputFileDatasetConfig
from trainyard.sdk.data.output_dataset import OutputTabularDatasetConfig as OutputTabularDatasetConfig
