"""Clusters that a run describes: which is made, without a service."""

from __future__ import annotations

import pytest

from azureml.core import RunConfiguration
from azureml.exceptions import UserErrorException
from trainyard.sdk.computes.transient_cluster import container
from trainyard.sdk.submitting.run_definition import from_definition, to_definition


def described(cpu_cores, memory_gb):
    config = RunConfiguration()
    config.target = "containerinstance"
    config.container_instance.region = "eastus2"
    config.container_instance.cpu_cores, config.container_instance.memory_gb = cpu_cores, memory_gb
    return config.container_instance


@pytest.mark.parametrize(
    ("cpu_cores", "memory_gb", "size"),
    [(1, 2, "D1"), (1, 3.5, "D1"), (2, 3.5, "D2"), (1, 8, "D11"), (4, 8, "D3"), (3, 20, "D12"), (16, 112, "D14")],
)
def test_a_container_instance_is_the_smallest_node_that_holds_it(cpu_cores, memory_gb, size):
    made = container(described(cpu_cores, memory_gb), nodes=1)
    assert (made.vm_size, made.max_nodes) == (f"STANDARD_{size}_V2", 1)
    assert made.name == f"containerinstance-{size.lower()}-v2"


@pytest.mark.parametrize(
    ("cpu_cores", "memory_gb", "nodes", "said"),
    [(64, 1, 1, "AmlCompute"), (-1, 1, 1, "up to 16 cores"), ("many", 1, 1, "are numbers"), (1, 1, 2, "is one")],
)
def test_what_no_container_instance_can_be_is_said(cpu_cores, memory_gb, nodes, said):
    with pytest.raises(UserErrorException, match=said):
        container(described(cpu_cores, memory_gb), nodes)


def test_a_container_instance_is_kept_in_a_file():
    config = RunConfiguration()
    config.target = "containerinstance"
    config.container_instance.cpu_cores = 4
    assert to_definition(config)["containerInstance"] == {"region": None, "cpuCores": 4, "memoryGb": 3.5}
    assert from_definition(to_definition(config)).container_instance.cpu_cores == 4
