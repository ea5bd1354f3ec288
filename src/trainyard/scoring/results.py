"""What run() and models give back, as JSON."""

from __future__ import annotations

import datetime
import json
from typing import Any


def plain(value: Any) -> Any:
    """Arrays, tensors and scalars of numpy, torch and TensorFlow, and times: what scripts give back as it is."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        raise TypeError(
            "run() returned bytes, which JSON cannot hold. Return text, or AMLResponse(value, 200) from "
            "azureml.contrib.services.aml_response."
        )
    if isinstance(value, (set, frozenset)):
        return list(value)
    if hasattr(value, "numpy") and not hasattr(value, "tolist"):  # TensorFlow's tensors
        value = value.numpy()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(
        f"run() returned a {type(value).__name__}, which JSON cannot hold. Return dicts, lists, numbers and text."
    )


_written = json.JSONEncoder(default=plain).encode


def encode(value: Any) -> bytes:
    return _written(value).encode()
