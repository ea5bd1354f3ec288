"""AmlCompute: a cluster of logical nodes that grows for runs and shrinks when they are done."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.contract.computes import ComputeChange, ComputeRecord, NewCompute, Priority
from trainyard.sdk.computes.amlcompute_status import AmlComputeStatus, ScaleSettings, status_of
from trainyard.sdk.computes.compute import ComputeTarget, compute_errors, show_warnings
from trainyard.sdk.computes.vm_sizes import vm_sizes
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import ComputeTargetException
from trainyard.sdk.runs.screen import put
from trainyard.sdk.times import duration, iso

if TYPE_CHECKING:
    from trainyard.sdk.runs.run import Run
    from trainyard.sdk.workspace import Workspace

_POLL_S = 0.2


class AmlComputeProvisioningConfiguration:
    def __init__(
        self,
        vm_size: str = "",
        vm_priority: str = "dedicated",
        min_nodes: Any = 0,
        max_nodes: Any = None,
        idle_seconds_before_scaledown: Any = None,
        tags: dict[str, str] | None = None,
        description: str | None = None,
    ) -> None:
        self.vm_size = vm_size or ""
        self.vm_priority = str(vm_priority or "dedicated").lower()
        self.min_nodes = whole_number(min_nodes, "min_nodes") or 0
        most = whole_number(max_nodes, "max_nodes")
        self.idle_seconds_before_scaledown = whole_number(
            idle_seconds_before_scaledown, "idle_seconds_before_scaledown"
        )
        self.tags = tags
        self.description = description
        if most is None:
            raise ComputeTargetException(
                "provisioning_configuration needs max_nodes: the most nodes the target may have."
            )
        if most < 1 or self.min_nodes > most:
            raise ComputeTargetException(
                f"min_nodes is {self.min_nodes} and max_nodes is {most}: max_nodes must be at least 1, and not below "
                "min_nodes."
            )
        self.max_nodes = most
        if self.vm_priority not in {priority.value for priority in Priority}:
            raise ComputeTargetException(f"vm_priority is {vm_priority!r}; it must be 'dedicated' or 'lowpriority'.")
        if tags is not None and not isinstance(tags, dict):
            raise ComputeTargetException(f"tags must be a dict, not {type(tags).__name__}.")

    def _new_compute(self, name: str, kind: str = "AmlCompute") -> NewCompute:
        idle = self.idle_seconds_before_scaledown
        return NewCompute(
            name=name,
            kind=kind,
            vm_size=self.vm_size,
            priority=Priority(self.vm_priority),
            min_nodes=self.min_nodes,
            max_nodes=self.max_nodes,
            idle_seconds=NewCompute.idle_seconds if idle is None else idle,
            description=self.description,
            tags={str(key): str(value) for key, value in (self.tags or {}).items()},
        )


class AmlCompute(ComputeTarget):
    _compute_type: ClassVar[str | None] = "AmlCompute"

    vm_size: str
    vm_priority: str
    scale_settings: ScaleSettings
    status: AmlComputeStatus | None
    admin_username: str | None
    admin_user_password: str | None
    admin_user_ssh_key: str | None
    vnet_resourcegroup_name: str | None
    vnet_name: str | None
    subnet_name: str | None
    remote_login_port_public_access: str
    identity_type: str | None
    identity_id: Any

    @staticmethod
    def provisioning_configuration(
        vm_size: str = "",
        vm_priority: str = "dedicated",
        min_nodes: Any = 0,
        max_nodes: Any = None,
        idle_seconds_before_scaledown: Any = None,
        admin_username: str | None = None,
        admin_user_password: str | None = None,
        admin_user_ssh_key: str | None = None,
        vnet_resourcegroup_name: str | None = None,
        vnet_name: str | None = None,
        subnet_name: str | None = None,
        tags: dict[str, str] | None = None,
        description: str | None = None,
        remote_login_port_public_access: str = "NotSpecified",
        identity_type: str | None = None,
        identity_id: Any = None,
        location: str | None = None,
        enable_node_public_ip: bool = True,
    ) -> AmlComputeProvisioningConfiguration:
        """Numbers may be given as text."""
        network = (vnet_resourcegroup_name, vnet_name, subnet_name)
        if any(network) and not all(network):
            raise ComputeTargetException(
                "vnet_resourcegroup_name, vnet_name and subnet_name go together: give all or none."
            )
        no_effect(
            "AmlCompute.provisioning_configuration",
            admin_username=admin_username,
            admin_user_password=admin_user_password,
            admin_user_ssh_key=admin_user_ssh_key,
            vnet_name=vnet_name,
            remote_login_port_public_access=(
                None if remote_login_port_public_access == "NotSpecified" else remote_login_port_public_access
            ),
            identity_type=identity_type,
            identity_id=identity_id,
            location=location,
            enable_node_public_ip=None if enable_node_public_ip else False,
        )
        return AmlComputeProvisioningConfiguration(
            vm_size, vm_priority, min_nodes, max_nodes, idle_seconds_before_scaledown, tags, description
        )

    @staticmethod
    def supported_vmsizes(workspace: Workspace, location: str | None = None) -> list[dict[str, Any]]:
        """The sizes people use most; a node is never larger than this machine."""
        del workspace
        no_effect("AmlCompute.supported_vmsizes", location=location)
        return vm_sizes()

    def get_status(self) -> AmlComputeStatus | None:
        """None while the target is neither there nor being changed."""
        status = self.workspace._clients.computes.status(self.name)
        self._take(status.compute)
        self.status = status_of(status) if self.provisioning_state in ("Succeeded", "Updating") else None
        return self.status

    def get(self) -> dict[str, Any]:
        self.refresh_state()
        return self.serialize()

    def wait_for_completion(  # type: ignore[override]
        self,
        show_output: bool = False,
        min_node_count: int | None = None,
        timeout_in_minutes: float = 25,
        is_delete_operation: bool = False,
    ) -> None:
        """Returns when the target is there with `min_node_count` nodes (its own minimum without one), or after the
        timeout, which raises nothing."""
        if is_delete_operation:
            self._wait_until_gone(show_output)
            return
        say = _say if show_output else _say_nothing
        if self._creating:
            say("Creating...")
        outcome = self._wait_for_nodes(whole_number(min_node_count, "min_node_count"), timeout_in_minutes)
        self._creating = False
        say(self.provisioning_state)
        say("AmlCompute wait for completion finished\n")
        if self.provisioning_state == "Failed":
            raise ComputeTargetException(
                f"Compute target {self.name} could not be provided: {self.provisioning_errors}"
            )
        say(outcome)

    def update(self, min_nodes: Any = None, max_nodes: Any = None, idle_seconds_before_scaledown: Any = None) -> None:
        """Changes what is given; nothing given changes nothing."""
        change = ComputeChange(
            whole_number(min_nodes, "min_nodes"),
            whole_number(max_nodes, "max_nodes"),
            whole_number(idle_seconds_before_scaledown, "idle_seconds_before_scaledown"),
        )
        if change != ComputeChange():
            with compute_errors():
                record = self.workspace._clients.computes.update(self.name, change)
            self._take(record)

    def list_nodes(self) -> list[dict[str, Any]]:
        """The nodes that are up."""
        return [
            {"nodeId": node.node_id, "nodeState": node.state, "runId": node.run_id, "since": iso(node.since_ns)}
            for node in self.workspace._clients.computes.status(self.name).nodes
        ]

    def get_active_runs(
        self, type: Any = None, tags: Any = None, properties: Any = None, status: Any = None
    ) -> Iterator[Run]:
        from trainyard.sdk.runs.run import Run

        return Run.list_by_compute(self, type, tags, properties, status)

    def serialize(self) -> dict[str, Any]:
        said = super().serialize()
        status = self.status.serialize() if self.status else None
        scale = self.scale_settings.serialize()
        said["properties"].update(
            {
                "properties": {"vmSize": self.vm_size, "vmPriority": self.vm_priority, "scaleSettings": scale},
                "status": status,
            }
        )
        return said

    def add_identity(self, identity_type: str, identity_id: Any = None) -> None:
        no_effect("AmlCompute.add_identity", identity_type=identity_type, identity_id=identity_id)

    def remove_identity(self, identity_id: Any = None) -> None:
        no_effect("AmlCompute.remove_identity", identity_id=identity_id)

    def _take(self, record: ComputeRecord) -> None:
        super()._take(record)
        show_warnings(record)
        self.vm_size = record.vm_size
        self.vm_priority = record.priority.value
        idle = duration(record.idle_seconds)
        self.scale_settings = ScaleSettings(record.min_nodes, record.max_nodes, idle)
        self.status = getattr(self, "status", None)
        self.admin_username = self.admin_user_password = self.admin_user_ssh_key = None
        self.vnet_resourcegroup_name = self.vnet_name = self.subnet_name = None
        self.remote_login_port_public_access = "NotSpecified"
        self.identity_type = self.identity_id = None

    def _wait_for_nodes(self, wanted: int | None, timeout_in_minutes: float) -> str:
        """What there is to say when the wait is over."""
        ends = time.monotonic() + float(timeout_in_minutes) * 60
        while True:
            status = self.get_status()
            kept = self.scale_settings.minimum_node_count
            enough, there = kept if wanted is None else wanted, (status.current_node_count or 0) if status else 0
            if status is not None and there >= enough:
                return "Minimum number of nodes requested have been provisioned"
            if enough > kept and not any(self.get_active_runs()):
                return f"Nodes come up when a run needs them: {self.name} keeps {kept}, so {enough} were not waited for"
            if self.provisioning_state == "Failed" or time.monotonic() >= ends:
                return (
                    "Wait timeout has been reached\nCurrent provisioning state of AmlCompute is "
                    f'"{self.provisioning_state}" and current node count is "{there}"'
                )
            time.sleep(_POLL_S)


def whole_number(value: Any, name: str) -> int | None:
    """A count that may have come as text."""
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError) as error:
        raise ComputeTargetException(f"{name} is {value!r}; it must be a whole number.", error) from error
    if number < 0:
        raise ComputeTargetException(f"{name} is {number}; it must not be negative.")
    return number


def _say(text: str) -> None:
    put(sys.stdout, text + "\n")


def _say_nothing(text: str) -> None:
    del text
