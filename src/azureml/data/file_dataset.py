"""Re-exports: see trainyard.sdk.data.file_dataset."""

from trainyard.sdk.data.file_dataset import FileDataset as FileDataset
from trainyard.sdk.data.file_dataset import MountContext as MountContext
