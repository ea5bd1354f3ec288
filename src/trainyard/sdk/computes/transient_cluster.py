"""A cluster that a run describes instead of naming one: runs that ask for the same node size share it, and it has no
nodes while none of them runs. A container instance is such a cluster of one node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trainyard.contract.computes import NewCompute, Priority
from trainyard.sdk.errors import AzureMLException, UserErrorException, code_of

if TYPE_CHECKING:
    from trainyard.sdk.submitting.runconfig import RunConfiguration
    from trainyard.sdk.submitting.runconfig_parts import AmlComputeConfiguration, ContainerInstanceConfiguration
    from trainyard.sdk.workspace import Workspace

TRANSIENT_TARGET = "amlcompute"  # the SDK's word for "made for this run"
CONTAINER_TARGET = "containerinstance"
DESCRIBED_TARGETS = frozenset({TRANSIENT_TARGET, CONTAINER_TARGET})
_MADE_BY = "Made by runs that described a cluster instead of naming one"
_SIZES = ((1, 3.5, 1), (2, 7, 2), (2, 14, 11), (4, 14, 3), (4, 28, 12), (8, 28, 4), (8, 56, 13), (16, 112, 14))


def ensure_cluster(workspace: Workspace, config: RunConfiguration) -> str:
    """The name of the cluster, made or enlarged if it has to be."""
    nodes = config.node_count
    is_container = config.target == CONTAINER_TARGET
    new = container(config.container_instance, nodes) if is_container else described_cluster(config.amlcompute, nodes)
    try:
        there = workspace._clients.computes.get(new.name)
    except AzureMLException as error:
        if code_of(error) != "compute.unknown":
            raise
    else:
        if there.max_nodes >= nodes:
            return new.name
    workspace._clients.computes.create(new)
    return new.name


def described_cluster(described: AmlComputeConfiguration, nodes: int) -> NewCompute:
    if not described.vm_size:
        raise UserErrorException(
            f"The target {TRANSIENT_TARGET!r} is made for the run, and nothing says of which size. Set vm_size "
            "(run_config.amlcompute.vm_size), or name a compute target."
        )
    try:
        priority = Priority((described.vm_priority or Priority.DEDICATED).lower())
    except ValueError as error:
        raise UserErrorException(
            f"vm_priority is {described.vm_priority!r}; it must be 'dedicated' or 'lowpriority'.", error
        ) from error
    size = re.sub(r"[^a-z0-9]+", "-", described.vm_size.lower()).strip("-")
    low = "-low" if priority is Priority.LOW else ""
    return NewCompute(
        name=f"{TRANSIENT_TARGET}-{size.removeprefix('standard-')}{low}",
        vm_size=described.vm_size,
        priority=priority,
        max_nodes=max(nodes, described._cluster_max_node_count),
        description=_MADE_BY,
    )


def container(described: ContainerInstanceConfiguration, nodes: int) -> NewCompute:
    """Of the smallest node size that holds so many cores and so much memory."""
    if nodes > 1:
        raise UserErrorException(
            f"The run wants {nodes} nodes, and a container instance is one. Use an AmlCompute for more."
        )
    try:
        cores, memory_gb = float(described.cpu_cores or 1), float(described.memory_gb or 0)
    except (TypeError, ValueError) as error:
        raise UserErrorException("container_instance.cpu_cores and memory_gb are numbers.", error) from error
    size = next((it for has_cores, has_gb, it in _SIZES if has_cores >= cores and has_gb >= memory_gb), None)
    if size is None or cores <= 0 or memory_gb < 0:
        raise UserErrorException(
            f"container_instance asks for {cores:g} cores and {memory_gb:g} GB; up to 16 cores and 112 GB can be had. "
            "Use an AmlCompute with a vm_size for more."
        )
    return NewCompute(
        name=f"{CONTAINER_TARGET}-d{size}-v2", vm_size=f"STANDARD_D{size}_V2", max_nodes=1, description=_MADE_BY
    )
