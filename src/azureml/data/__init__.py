"""Re-exports: see the datasets' modules of trainyard.sdk."""

from trainyard.sdk.data.data_reference import DataReference as DataReference
from trainyard.sdk.data.file_dataset import FileDataset as FileDataset
from trainyard.sdk.data.output_dataset import OutputFileDatasetConfig as OutputFileDatasetConfig
from trainyard.sdk.data.readers import DataType as DataType
from trainyard.sdk.data.tabular_dataset import TabularDataset as TabularDataset
from trainyard.sdk.version import SDK_VERSION

__version__ = SDK_VERSION
