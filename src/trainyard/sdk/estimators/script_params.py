"""An estimator's script_params as a flat list of arguments."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.errors import TrainingException
from trainyard.sdk.submitting.arguments import DataArgument, checked_arguments


def flattened(script_params: dict[str, Any] | None) -> list[str | DataArgument]:
    """In their order; '' or None is a flag without a value, a list or tuple is several values."""
    if script_params is None:
        return []
    if not isinstance(script_params, dict):
        raise TrainingException(
            f"script_params is a {type(script_params).__name__}; it must be a dictionary such as {{'--epochs': 3}}."
        )
    arguments: list[Any] = []
    for key, value in script_params.items():
        arguments.append(key)
        if isinstance(value, list | tuple):
            arguments.extend(value)
        elif value is not None and not (isinstance(value, str) and value == ""):
            arguments.append(value)
    return list(checked_arguments(arguments, "script_params"))
