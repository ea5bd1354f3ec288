"""The vm_size names people use most, with what a node of each has. The service knows more of them."""

from __future__ import annotations

from typing import Any

# name, cores, GB of memory, GPUs
_SIZES: tuple[tuple[str, int, float, int], ...] = (
    ("Standard_D1_v2", 1, 3.5, 0),
    ("Standard_D2_v2", 2, 7.0, 0),
    ("Standard_D3_v2", 4, 14.0, 0),
    ("Standard_D4_v2", 8, 28.0, 0),
    ("Standard_D12_v2", 4, 28.0, 0),
    ("Standard_D14_v2", 16, 112.0, 0),
    ("Standard_DS2_v2", 2, 7.0, 0),
    ("Standard_DS3_v2", 4, 14.0, 0),
    ("Standard_DS12_v2", 4, 28.0, 0),
    ("Standard_D4s_v3", 4, 16.0, 0),
    ("Standard_D8s_v3", 8, 32.0, 0),
    ("Standard_F4s_v2", 4, 8.0, 0),
    ("Standard_F8s_v2", 8, 16.0, 0),
    ("Standard_NC6", 6, 56.0, 1),
    ("Standard_NC12", 12, 112.0, 2),
    ("Standard_NC24", 24, 224.0, 4),
    ("Standard_NC6s_v3", 6, 112.0, 1),
    ("Standard_NC12s_v3", 12, 224.0, 2),
    ("Standard_NC24s_v3", 24, 448.0, 4),
    ("Standard_NV6", 6, 56.0, 1),
)


def vm_sizes() -> list[dict[str, Any]]:
    return [{"name": name, "vCPUs": cores, "gpus": gpus, "memoryGB": memory} for name, cores, memory, gpus in _SIZES]
