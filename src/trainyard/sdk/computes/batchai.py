"""BatchAiCompute: the cluster of the SDK's first year, with the same nodes behind it."""

from __future__ import annotations

from typing import Any, ClassVar

from trainyard.contract.computes import NewCompute
from trainyard.sdk.computes.amlcompute import AmlCompute, AmlComputeProvisioningConfiguration, whole_number
from trainyard.sdk.errors import ComputeTargetException

KIND = "BatchAI"


class BatchAiProvisioningConfiguration(AmlComputeProvisioningConfiguration):
    def _new_compute(self, name: str, kind: str = KIND) -> NewCompute:
        return super()._new_compute(name, kind)


class BatchAiCompute(AmlCompute):
    _compute_type: ClassVar[str | None] = KIND

    @staticmethod
    def provisioning_configuration(  # type: ignore[override]
        vm_size: str = "",
        vm_priority: str = "",
        autoscale_enabled: bool | None = None,
        cluster_min_nodes: Any = None,
        cluster_max_nodes: Any = None,
        tags: dict[str, str] | None = None,
        description: str | None = None,
    ) -> BatchAiProvisioningConfiguration:
        """Without autoscale the nodes are `cluster_min_nodes`, always up."""
        least = whole_number(cluster_min_nodes, "cluster_min_nodes") or 0
        most = whole_number(cluster_max_nodes, "cluster_max_nodes")
        if autoscale_enabled and most is None:
            raise ComputeTargetException(
                "autoscale_enabled needs cluster_max_nodes: the most nodes the target may have."
            )
        if not autoscale_enabled:
            least = most = least or most or 1
        return BatchAiProvisioningConfiguration(vm_size, vm_priority, least, most, None, tags, description)

    def wait_for_completion(  # type: ignore[override]
        self, show_output: bool = False, min_node_count: int | None = None, timeout_in_minutes: float = 20
    ) -> None:
        super().wait_for_completion(show_output, min_node_count, timeout_in_minutes)
