"""GPUs as NVIDIA's own library tells of them. Without it there are none; nothing has to be installed for it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class GpuUse:
    """None: this GPU does not tell."""

    name: str  # as in gpu-0
    utilization: int | None  # percent of the time
    memory: int | None  # bytes
    power_w: float | None
    temperature_c: int | None


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    """Of the second version: the first counts what the driver keeps for itself as used."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("total", ctypes.c_ulonglong),
        ("reserved", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


_MEMORY_VERSION = ctypes.sizeof(_Memory) | 2 << 24


class Gpus:
    """`visible`: the numbers or ids that the node's job was given (CUDA_VISIBLE_DEVICES); () for every GPU."""

    def __init__(self, visible: Sequence[str] = ()) -> None:
        self._handles: list[tuple[str, ctypes.c_void_p]] = []
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        if self._nvml.nvmlInit_v2() != 0:
            return
        for name in visible or map(str, range(self._count())):
            handle = ctypes.c_void_p()
            if name.isdigit():
                found = self._nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(name)), ctypes.byref(handle))
            else:
                found = self._nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
            if found == 0:
                self._handles.append((f"gpu-{name}", handle))

    def look(self) -> list[GpuUse]:
        return [self._look(name, handle) for name, handle in self._handles]

    def close(self) -> None:
        if self._handles:
            self._nvml.nvmlShutdown()
            self._handles = []

    def _look(self, name: str, handle: ctypes.c_void_p) -> GpuUse:
        use, memory = _Utilization(), _Memory(version=_MEMORY_VERSION)
        milliwatts, celsius = ctypes.c_uint(), ctypes.c_uint()
        ask = self._nvml
        has_use = ask.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(use)) == 0
        memory_of = getattr(ask, "nvmlDeviceGetMemoryInfo_v2", None)  # not in old drivers
        has_memory = memory_of is not None and memory_of(handle, ctypes.byref(memory)) == 0
        has_power = ask.nvmlDeviceGetPowerUsage(handle, ctypes.byref(milliwatts)) == 0
        has_heat = ask.nvmlDeviceGetTemperature(handle, ctypes.c_uint(0), ctypes.byref(celsius)) == 0
        return GpuUse(
            name,
            int(use.gpu) if has_use else None,
            int(memory.used) if has_memory else None,
            milliwatts.value / 1000 if has_power else None,
            celsius.value if has_heat else None,
        )

    def _count(self) -> int:
        count = ctypes.c_uint()
        return count.value if self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 else 0
