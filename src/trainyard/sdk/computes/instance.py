"""ComputeInstance: somebody's own machine in the cloud. Here it is one node of this machine that is always up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.contract.computes import ComputeChange, ComputeRecord, NewCompute
from trainyard.sdk.computes.compute import ComputeTarget
from trainyard.sdk.computes.vm_sizes import vm_sizes
from trainyard.sdk.effects import no_effect
from trainyard.sdk.times import iso

if TYPE_CHECKING:
    from trainyard.sdk.runs.run import Run
    from trainyard.sdk.workspace import Workspace

KIND = "ComputeInstance"


class ComputeInstanceProvisioningConfiguration:
    def __init__(self, vm_size: str, tags: dict[str, str] | None, description: str | None) -> None:
        self.vm_size, self.tags, self.description = vm_size, tags, description

    def _new_compute(self, name: str) -> NewCompute:
        tags = {str(key): str(value) for key, value in (self.tags or {}).items()}
        return NewCompute(
            name, kind=KIND, vm_size=self.vm_size, min_nodes=1, max_nodes=1, description=self.description, tags=tags
        )


class ComputeInstanceStatus:
    def __init__(self, record: ComputeRecord) -> None:
        self.state = "Running" if record.min_nodes else "Stopped"
        self.creation_time, self.modified_time = iso(record.created_ns), iso(record.modified_ns)
        self.errors: list[Any] = []
        self.vm_size = record.vm_size

    def serialize(self) -> dict[str, Any]:
        return {
            "errors": self.errors,
            "creationTime": self.creation_time,
            "modifiedTime": self.modified_time,
            "state": self.state,
            "vmSize": self.vm_size,
        }

    def __repr__(self) -> str:
        return str(self.serialize())


class ComputeInstance(ComputeTarget):
    """`stop` lets its node go, `start` takes one again; a run that is sent to a stopped one gets a node while it
    runs."""

    _compute_type: ClassVar[str | None] = KIND

    vm_size: str
    status: ComputeInstanceStatus

    @staticmethod
    def provisioning_configuration(
        vm_size: str = "",
        ssh_public_access: bool = False,
        admin_user_ssh_public_key: str | None = None,
        vnet_resourcegroup_name: str | None = None,
        vnet_name: str | None = None,
        subnet_name: str | None = None,
        tags: dict[str, str] | None = None,
        description: str | None = None,
        assigned_user_object_id: str | None = None,
        assigned_user_tenant_id: str | None = None,
    ) -> ComputeInstanceProvisioningConfiguration:
        no_effect(
            "ComputeInstance.provisioning_configuration",
            ssh_public_access=ssh_public_access or None,
            admin_user_ssh_public_key=admin_user_ssh_public_key,
            vnet_resourcegroup_name=vnet_resourcegroup_name,
            vnet_name=vnet_name,
            subnet_name=subnet_name,
            assigned_user_object_id=assigned_user_object_id,
            assigned_user_tenant_id=assigned_user_tenant_id,
        )
        return ComputeInstanceProvisioningConfiguration(vm_size, tags, description)

    @staticmethod
    def supported_vmsizes(workspace: Workspace, location: str | None = None) -> list[dict[str, Any]]:
        del workspace
        no_effect("ComputeInstance.supported_vmsizes", location=location)
        return vm_sizes()

    def get_status(self) -> ComputeInstanceStatus:
        self.refresh_state()
        return self.status

    def get(self) -> dict[str, Any]:
        self.refresh_state()
        return self.serialize()

    def get_active_runs(
        self, type: Any = None, tags: Any = None, properties: Any = None, status: Any = None
    ) -> Iterator[Run]:
        from trainyard.sdk.runs.run import Run

        return Run.list_by_compute(self, type, tags, properties, status)

    def start(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        self._keep(1, wait_for_completion, show_output)

    def stop(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        self._keep(0, wait_for_completion, show_output)

    def restart(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        self.stop()
        self.start(wait_for_completion, show_output)

    def delete(self, wait_for_completion: bool = False, show_output: bool = False) -> None:
        super().delete()
        if wait_for_completion:
            self._wait_until_gone(show_output)

    def wait_for_completion(self, show_output: bool = False, is_delete_operation: bool = False) -> None:
        if is_delete_operation:
            self._wait_until_gone(show_output)
        elif show_output:
            print('Provisioning operation finished, operation "Succeeded"', flush=True)

    def serialize(self) -> dict[str, Any]:
        said = super().serialize()
        said["properties"].update({"properties": {"vmSize": self.vm_size}, "status": self.status.serialize()})
        return said

    def _keep(self, nodes: int, wait_for_completion: bool, show_output: bool) -> None:
        self._take(self.workspace._clients.computes.update(self.name, ComputeChange(nodes, None, None)))
        if wait_for_completion:
            self.wait_for_completion(show_output)

    def _take(self, record: ComputeRecord) -> None:
        super()._take(record)
        self.vm_size, self.status = record.vm_size, ComputeInstanceStatus(record)
