"""Re-exports: see trainyard.sdk.data.open_datasets."""

from trainyard.sdk.data.open_datasets import MNIST as MNIST
from trainyard.sdk.data.open_datasets import Diabetes as Diabetes
