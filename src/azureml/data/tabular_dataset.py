"""Re-exports: see trainyard.sdk.data.tabular_dataset."""

from trainyard.sdk.data.tabular_dataset import TabularDataset as TabularDataset
