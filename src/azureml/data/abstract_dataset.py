"""Re-exports: see trainyard.sdk.data.dataset_base."""

from trainyard.sdk.data.dataset_base import AbstractDataset as AbstractDataset
