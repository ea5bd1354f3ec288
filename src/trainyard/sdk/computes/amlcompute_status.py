"""What get_status() of a cluster answers, with the SDK's keys."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from trainyard.contract.computes import ComputeStatus
from trainyard.sdk.times import duration, iso


@dataclass(frozen=True)
class ScaleSettings:
    minimum_node_count: int
    maximum_node_count: int
    idle_seconds_before_scaledown: str  # an ISO 8601 duration

    def serialize(self) -> dict[str, Any]:
        return {
            "minNodeCount": self.minimum_node_count,
            "maxNodeCount": self.maximum_node_count,
            "nodeIdleTimeBeforeScaleDown": self.idle_seconds_before_scaledown,
        }


@dataclass(frozen=True)
class AmlComputeNodeStateCounts:
    idle_node_count: int = 0
    leaving_node_count: int = 0
    preempted_node_count: int = 0
    preparing_node_count: int = 0
    running_node_count: int = 0
    unusable_node_count: int = 0

    def serialize(self) -> dict[str, int]:
        return {
            "preparingNodeCount": self.preparing_node_count,
            "runningNodeCount": self.running_node_count,
            "idleNodeCount": self.idle_node_count,
            "unusableNodeCount": self.unusable_node_count,
            "leavingNodeCount": self.leaving_node_count,
            "preemptedNodeCount": self.preempted_node_count,
        }


@dataclass(frozen=True)
class AmlComputeStatus:
    allocation_state: str
    allocation_state_transition_time: str | None
    creation_time: str | None
    current_node_count: int
    errors: Any
    modified_time: str | None
    node_state_counts: AmlComputeNodeStateCounts
    provisioning_state: str
    provisioning_state_transition_time: str | None
    scale_settings: ScaleSettings
    target_node_count: int
    vm_priority: str
    vm_size: str

    def serialize(self) -> dict[str, Any]:
        return {
            "currentNodeCount": self.current_node_count,
            "targetNodeCount": self.target_node_count,
            "nodeStateCounts": self.node_state_counts.serialize(),
            "allocationState": self.allocation_state,
            "allocationStateTransitionTime": self.allocation_state_transition_time,
            "errors": self.errors,
            "creationTime": self.creation_time,
            "modifiedTime": self.modified_time,
            "provisioningState": self.provisioning_state,
            "provisioningStateTransitionTime": self.provisioning_state_transition_time,
            "scaleSettings": self.scale_settings.serialize(),
            "vmPriority": self.vm_priority,
            "vmSize": self.vm_size,
        }


def status_of(status: ComputeStatus) -> AmlComputeStatus:
    compute = status.compute
    states = Counter(node.state for node in status.nodes)
    counts = AmlComputeNodeStateCounts(
        idle_node_count=states["idle"],
        leaving_node_count=states["leaving"],
        preempted_node_count=states["preempted"],
        preparing_node_count=states["preparing"],
        running_node_count=states["running"],
    )
    return AmlComputeStatus(
        allocation_state="Steady" if status.steady else "Resizing",
        allocation_state_transition_time=iso(status.changed_ns),
        creation_time=iso(compute.created_ns),
        current_node_count=sum(states.values()) - states["preempted"],
        errors=None,
        modified_time=iso(compute.modified_ns),
        node_state_counts=counts,
        provisioning_state=compute.provisioning_state,
        provisioning_state_transition_time=None,
        scale_settings=ScaleSettings(compute.min_nodes, compute.max_nodes, duration(compute.idle_seconds)),
        target_node_count=status.target_nodes,
        vm_priority="LowPriority" if compute.priority.value == "lowpriority" else "Dedicated",
        vm_size=compute.vm_size,
    )
