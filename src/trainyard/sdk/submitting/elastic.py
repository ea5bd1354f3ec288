"""What a PyTorchConfiguration says beyond the SDK: how often a run is started again, and on how few nodes."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.submitting.runconfig_parts import PyTorchConfiguration


def is_elastic(pytorch: PyTorchConfiguration) -> bool:
    return bool(pytorch.max_restarts) or pytorch.min_node_count is not None


def checked_limits(pytorch: PyTorchConfiguration, nodes: int) -> tuple[int, int]:
    """min_nodes and max_restarts of the run. UserErrorException says what does not go together."""
    restarts = _count(pytorch.max_restarts, "max_restarts", 0)
    least = nodes if pytorch.min_node_count is None else _count(pytorch.min_node_count, "min_node_count", 1)
    if least > nodes:
        raise UserErrorException(f"min_node_count is {least} and node_count {nodes}: it must not be above node_count.")
    total = pytorch.process_count
    if total is not None and int(total) % nodes:
        raise UserErrorException(
            f"process_count is {total} and node_count {nodes}: torchrun starts the same number of processes on each "
            "node. Choose a process_count that node_count divides."
        )
    return least, restarts


def _count(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserErrorException(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    return value
