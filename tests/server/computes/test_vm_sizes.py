"""Azure's size names, against Azure's own list."""

from __future__ import annotations

import pytest

from trainyard.contract.computes import NodeShape
from trainyard.contract.errors import InvalidRequest
from trainyard.server.computes.machine import this_machine
from trainyard.server.computes.sizes import capped, shape_of


@pytest.mark.parametrize(
    ("name", "cores", "memory_gb", "gpus"),
    [
        ("STANDARD_D2_V2", 2, 7, 0),
        ("Standard_DS3_v2", 4, 14, 0),
        ("STANDARD_D12_V2", 4, 28, 0),
        ("STANDARD_DS15_V2", 20, 140, 0),
        ("Standard_D1", 1, 3.5, 0),
        ("Standard_D4s_v3", 4, 16, 0),
        ("Standard_D16ds_v5", 16, 64, 0),
        ("Standard_E4s_v3", 4, 32, 0),
        ("Standard_E4-2s_v3", 2, 32, 0),
        ("Standard_F2s_v2", 2, 4, 0),
        ("Standard_F16", 16, 32, 0),
        ("Standard_A2_v2", 2, 4, 0),
        ("Basic_A1", 1, 1.75, 0),
        ("Standard_B1ms", 1, 2, 0),
        ("Standard_B4ms", 4, 16, 0),
        ("STANDARD_NC6", 6, 56, 1),
        ("Standard_NC6_Promo", 6, 56, 1),
        ("STANDARD_NC24r", 24, 223, 4),
        ("Standard_NC6s_v2", 6, 112, 1),
        ("STANDARD_NC12S_V3", 12, 224, 2),
        ("Standard_NC4as_T4_v3", 4, 28, 1),
        ("Standard_NC64as_T4_v3", 64, 448, 4),
        ("Standard_NC24ads_A100_v4", 24, 223, 1),
        ("Standard_ND40rs_v2", 40, 672, 8),
        ("Standard_ND96asr_v4", 96, 902, 8),
        ("Standard_ND6s", 6, 112, 1),
        ("Standard_NV6", 6, 56, 1),
        ("Standard_NV24s_v3", 24, 223, 2),
        ("Standard_HB60rs", 60, 228, 0),
        ("Standard_HC44rs", 44, 352, 0),
        ("Standard_M64s", 64, 1024, 0),
        ("Standard_GS2", 4, 56, 0),
        ("", 4, 14, 0),
    ],
)
def test_known_sizes(name: str, cores: int, memory_gb: float, gpus: int) -> None:
    assert shape_of(name) == NodeShape(cores, memory_gb, gpus)


@pytest.mark.parametrize(
    "name", ["STANDARD_", "huge", "STANDARD_D99_V2", "STANDARD_QQ4", "STANDARD_D0_V3", "4", "../x"]
)
def test_a_name_that_says_nothing_is_refused_with_names_that_do(name: str) -> None:
    with pytest.raises(InvalidRequest, match="STANDARD_D2_V2"):
        shape_of(name)


def test_a_size_is_capped_to_the_machine_and_says_so() -> None:
    shape, warnings = capped("STANDARD_NC12", NodeShape(12, 112, 2), 4, 16.0, 1)
    assert shape == NodeShape(4, 16.0, 1)
    (warning,) = warnings
    assert warning == (
        "STANDARD_NC12 has 12 cores, 112 GB and 2 GPUs; this machine has 4 cores, 16 GB and 1 GPU, so a node has "
        "4 cores, 16 GB and 1 GPU. Choose a smaller vm_size, or use a machine that has as much."
    )
    assert capped("STANDARD_D1", NodeShape(1, 3.5), 4, 16.0, 1) == (NodeShape(1, 3.5), [])


def test_this_machine_has_something() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.memory_gb > 0
    assert machine.local_nodes >= 8
