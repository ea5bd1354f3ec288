"""Azure's vm_size names: how many cores, how much memory and how many GPUs a node of that size has.

Most names say it: family letters, the number of cores, and a version. The older families count otherwise and are
listed by name. Pure.
"""

from __future__ import annotations

import re

from trainyard.contract.computes import NodeShape
from trainyard.contract.errors import InvalidRequest

DEFAULT = "STANDARD_DS3_V2"
_EXAMPLES = "STANDARD_D2_V2, STANDARD_DS3_V2, STANDARD_D4S_V3, STANDARD_F8S_V2, STANDARD_NC6, STANDARD_NC6S_V3"

# Families whose number is not the count of cores: (cores, GB).
_OLD_D = {1: (1, 3.5), 2: (2, 7), 3: (4, 14), 4: (8, 28), 5: (16, 56)}
_OLD_D_MEMORY = {11: (2, 14), 12: (4, 28), 13: (8, 56), 14: (16, 112), 15: (20, 140)}
_OLD_A = {0: (1, 0.75), 1: (1, 1.75), 2: (2, 3.5), 3: (4, 7), 4: (8, 14), 5: (2, 14), 6: (4, 28), 7: (8, 56)}
_OLD_A_COMPUTE = {8: (8, 56), 9: (16, 112), 10: (8, 56), 11: (16, 112)}
_OLD_G: dict[int, tuple[int, float]] = {1: (2, 28), 2: (4, 56), 3: (8, 112), 4: (16, 224), 5: (32, 448)}
_BY_NUMBER: dict[tuple[str, int], dict[int, tuple[int, float]]] = {
    ("D", 1): {**_OLD_D, **_OLD_D_MEMORY},
    ("D", 2): {**_OLD_D, **_OLD_D_MEMORY},
    ("A", 1): {**_OLD_A, **_OLD_A_COMPUTE},
    ("G", 1): _OLD_G,
}

# GB of memory per core of the families whose number is the count of cores; a smaller share of memory in burstable ones.
_GB_PER_CORE = {"A": 2.0, "B": 4.0, "D": 4.0, "E": 8.0, "F": 2.0, "H": 7.0, "HB": 3.8, "HC": 8.0, "L": 8.0, "M": 16.0}
_GB_PER_CORE |= {"NC": 9.3, "ND": 18.7, "NV": 9.3, "HX": 10.0, "FX": 21.0}
_SMALL_BURSTABLE = {"B1S": (1, 1.0), "B1LS": (1, 0.5), "B1MS": (1, 2.0), "B2S": (2, 4.0)}

# Cores that come with one GPU: by family, accelerator and version, the most telling first.
_CORES_PER_GPU: tuple[tuple[str, int], ...] = (
    (r"NC\d+\w*_T4_V3", 16),
    (r"NC\d+\w*_A100_V4", 24),
    (r"NC\d+\w*_H100_V5", 40),
    (r"NC\d+\w*_A10_V\d", 18),
    (r"NC\d+\w*", 6),
    (r"ND40\w*_V[23]", 5),
    (r"ND96\w*", 12),
    (r"ND\d+\w*", 6),
    (r"NV\d+\w*_A10_V5", 36),
    (r"NV\d+\w*_V4", 32),
    (r"NV\d+\w*_V3", 12),
    (r"NV\d+\w*", 6),
)
# GB per core where the family's own is far off, the most telling first.
_MEMORY: tuple[tuple[str, float], ...] = (
    (r"NC\d+\w*_T4_V3", 7.0),
    (r"NC\d+\w*_V[23]", 18.7),
    (r"ND40\w*", 16.8),
    (r"ND96\w*", 9.4),
    (r"NV\d+\w*_A10_V5", 12.2),
    (r"NV\d+\w*_V4", 3.5),
)

_NAME = re.compile(
    r"(?P<family>[A-Z]+?)(?P<storage>S)?(?P<number>\d+)(?:-(?P<limited>\d+))?(?P<features>[A-Z]*)"
    r"(?:_(?!V\d+$)[A-Z]+\d+)?(?:_V(?P<version>\d+))?"
)


def shape_of(vm_size: str) -> NodeShape:
    """What Azure's node of that size has; InvalidRequest for a name that says nothing."""
    name = str(vm_size or DEFAULT).strip().upper().removeprefix("STANDARD_").removeprefix("BASIC_")
    name = name.removesuffix("_PROMO")
    if name in _SMALL_BURSTABLE:
        return NodeShape(*_SMALL_BURSTABLE[name])
    found = _NAME.fullmatch(name)
    if found is None or found["family"] not in {*_GB_PER_CORE, "G"}:
        raise _unknown(vm_size)
    family, number, version = found["family"], int(found["number"]), int(found["version"] or 1)
    if (counted := _BY_NUMBER.get((family, version))) is not None:
        if number not in counted:
            raise _unknown(vm_size)
        return NodeShape(*counted[number])
    cores = int(found["limited"] or number)
    if not 1 <= number <= 1024 or cores < 1:
        raise _unknown(vm_size)
    per_core = next((gb for pattern, gb in _MEMORY if re.fullmatch(pattern, name)), _GB_PER_CORE.get(family, 4.0))
    return NodeShape(cores, float(round(number * per_core)), _gpus(name, number))


def capped(vm_size: str, wanted: NodeShape, cores: int, memory_gb: float, gpus: int) -> tuple[NodeShape, list[str]]:
    """The shape a node has here, and a warning where the machine has less than the size names."""
    here = NodeShape(min(wanted.cores, cores), min(wanted.memory_gb, memory_gb), min(wanted.gpus, gpus))
    if here == wanted:
        return here, []
    warning = (
        f"{vm_size} has {_words(wanted)}; this machine has {_words(NodeShape(cores, memory_gb, gpus))}, so a node has "
        f"{_words(here)}. Choose a smaller vm_size, or use a machine that has as much."
    )
    return here, [warning]


def _gpus(name: str, number: int) -> int:
    per_gpu = next((cores for pattern, cores in _CORES_PER_GPU if re.fullmatch(pattern, name)), 0)
    return max(1, number // per_gpu) if per_gpu else 0


def _words(shape: NodeShape) -> str:
    cores = "1 core" if shape.cores == 1 else f"{shape.cores} cores"
    gpus = {0: "no GPU", 1: "1 GPU"}.get(shape.gpus, f"{shape.gpus} GPUs")
    return f"{cores}, {shape.memory_gb:g} GB and {gpus}"


def _unknown(vm_size: str) -> InvalidRequest:
    return InvalidRequest(
        f"vm_size {vm_size!r} is not a size whose cores we can tell. Use one such as {_EXAMPLES}.", vm_size=str(vm_size)
    )
