"""Re-exports: see trainyard.sdk.data.dataset_factory and trainyard.sdk.data.readers."""

from trainyard.sdk.data.dataset_factory import FileDatasetFactory as FileDatasetFactory
from trainyard.sdk.data.dataset_factory import TabularDatasetFactory as TabularDatasetFactory
from trainyard.sdk.data.readers import DataType as DataType
