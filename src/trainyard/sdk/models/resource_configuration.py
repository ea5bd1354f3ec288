"""ResourceConfiguration: what a model wants where it is deployed."""

from __future__ import annotations

from typing import Any

from trainyard.contract.models import Resources
from trainyard.sdk.errors import WebserviceException


class ResourceConfiguration:
    def __init__(self, cpu: float | None = None, memory_in_gb: float | None = None, gpu: int | None = None) -> None:
        self.cpu = cpu
        self.memory_in_gb = memory_in_gb
        self.gpu = gpu

    def serialize(self) -> dict[str, Any]:
        return {"cpu": self.cpu, "memoryInGB": self.memory_in_gb, "gpu": self.gpu}

    @staticmethod
    def deserialize(payload_obj: dict[str, Any] | None) -> ResourceConfiguration | None:
        if payload_obj is None:
            return None
        if missing := sorted({"cpu", "memoryInGB", "gpu"} - set(payload_obj)):
            raise WebserviceException(
                f"A resource configuration has {', '.join(missing)}. Pass what serialize() answered."
            )
        return ResourceConfiguration(payload_obj["cpu"], payload_obj["memoryInGB"], payload_obj["gpu"])

    def __repr__(self) -> str:
        return f"ResourceConfiguration(cpu={self.cpu}, memory_in_gb={self.memory_in_gb}, gpu={self.gpu})"

    def _to_record(self) -> Resources:
        for name in ("cpu", "memory_in_gb", "gpu"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
                raise WebserviceException(f"ResourceConfiguration: {name} is {value!r}; it must be a number above 0.")
        return Resources(self.cpu, self.memory_in_gb, self.gpu)

    @staticmethod
    def _of(record: Resources | None) -> ResourceConfiguration | None:
        return ResourceConfiguration(record.cpu, record.memory_in_gb, record.gpu) if record is not None else None


def as_record(given: Any) -> Resources | None:
    if given is None:
        return None
    if not isinstance(given, ResourceConfiguration):
        raise WebserviceException(
            f"resource_configuration is {given!r}; it must be a ResourceConfiguration(cpu=..., memory_in_gb=...)."
        )
    return given._to_record()
