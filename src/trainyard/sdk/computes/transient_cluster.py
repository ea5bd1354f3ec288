"""A cluster that a run describes instead of naming one: runs that ask for the same node size share it, and it has no
nodes while none of them runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trainyard.contract.computes import NewCompute, Priority
from trainyard.sdk.errors import AzureMLException, UserErrorException, code_of

if TYPE_CHECKING:
    from trainyard.sdk.submitting.runconfig_parts import AmlComputeConfiguration
    from trainyard.sdk.workspace import Workspace

TRANSIENT_TARGET = "amlcompute"  # the SDK's word for "made for this run"


def ensure_cluster(workspace: Workspace, described: AmlComputeConfiguration, nodes: int) -> str:
    """The name of the cluster, made or enlarged if it has to be."""
    new = described_cluster(described, nodes)
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
        description="Made by runs that described a cluster instead of naming one",
    )
