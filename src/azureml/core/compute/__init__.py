"""Re-exports: see trainyard.sdk.computes.compute and its neighbours."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.computes.aks_compute import AksCompute
from trainyard.sdk.computes.amlcompute import AmlCompute
from trainyard.sdk.computes.batchai import BatchAiCompute
from trainyard.sdk.computes.compute import ComputeTarget
from trainyard.sdk.errors import ComputeTargetException

__all__ = [
    "AksCompute",
    "AmlCompute",
    "BatchAiCompute",
    "ComputeInstance",
    "ComputeTarget",
    "ComputeTargetException",
    "DsvmCompute",
    "RemoteCompute",
]


def __getattr__(name: str) -> Any:
    if name in ("DsvmCompute", "RemoteCompute"):
        from trainyard.sdk.computes import remote

        return getattr(remote, name)
    if name == "ComputeInstance":
        from trainyard.sdk.computes import instance

        return instance.ComputeInstance
    raise AttributeError(f"module 'azureml.core.compute' has no attribute {name!r}")
