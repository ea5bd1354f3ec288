"""Re-exports: see trainyard.sdk.data.open_datasets."""

from typing import Any

from trainyard.sdk.data.open_datasets import MNIST as MNIST
from trainyard.sdk.data.open_datasets import Diabetes as Diabetes


def __getattr__(name: str) -> Any:
    from trainyard.sdk.elsewhere import instead_of, refusal

    if instead_of(full := f"azureml.opendatasets.{name}"):
        raise refusal(full)
    raise AttributeError(f"module 'azureml.opendatasets' has no attribute {name!r}")
