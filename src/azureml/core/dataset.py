"""Re-exports: see trainyard.sdk.data.dataset."""

from trainyard.sdk.data.dataset import Dataset as Dataset
