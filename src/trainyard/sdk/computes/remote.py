"""RemoteCompute and DsvmCompute: a machine of one's own that is reached over SSH, and one that is a node here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.contract.computes import ATTACHED_KIND, AttachCompute, ComputeRecord, NewCompute
from trainyard.sdk.computes.amlcompute import whole_number
from trainyard.sdk.computes.compute import ComputeTarget, check_target_name
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import AzureMLException, ComputeTargetException

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

DSVM_KIND = "DSVM"


class RemoteComputeAttachConfiguration:
    """What it takes to get into a machine. The key file is read where you are; its text is kept encrypted."""

    def __init__(
        self, username: str, address: str, ssh_port: Any, password: str, key_file: str, passphrase: str
    ) -> None:
        self.username, self.address = username, address
        port = whole_number(ssh_port, "ssh_port")
        self.ssh_port = 22 if port is None else port
        self._password, self._passphrase = password or "", passphrase or ""
        self._key = _read_key(key_file) if key_file else ""

    def _new_attach(self, name: str) -> AttachCompute:
        return AttachCompute(
            name=name,
            address=self.address,
            username=self.username,
            port=self.ssh_port,
            private_key=self._key,
            passphrase=self._passphrase,
            password=self._password,
        )


class RemoteCompute(ComputeTarget):
    _compute_type: ClassVar[str | None] = ATTACHED_KIND

    address: str
    ssh_port: int
    username: str
    vm_size: str | None

    @staticmethod
    def attach_configuration(
        username: str,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        vm_name: str | None = None,
        resource_id: str | None = None,
        address: str | None = None,
        ssh_port: Any = 22,
        password: str = "",
        private_key_file: str = "",
        private_key_passphrase: str = "",
    ) -> RemoteComputeAttachConfiguration:
        """`address` is what you would give to `ssh`; resources of Azure's cannot be named here."""
        if not address:
            asked = resource_id or vm_name
            named = f"{asked!r} is a resource of Azure's, and a" if asked else "A"
            raise ComputeTargetException(f"{named} machine here has an address: give address='host or IP address'.")
        no_effect(
            "RemoteCompute.attach_configuration",
            subscription_id=subscription_id,
            resource_group=resource_group,
            vm_name=vm_name,
            resource_id=resource_id,
        )
        return RemoteComputeAttachConfiguration(
            username, address, ssh_port, password, private_key_file, private_key_passphrase
        )

    @staticmethod
    def attach(  # type: ignore[override]
        workspace: Workspace,
        name: str,
        username: Any = None,
        address: str | None = None,
        ssh_port: Any = 22,
        password: str = "",
        private_key_file: str = "",
        private_key_passphrase: str = "",
        attach_configuration: Any = None,
    ) -> ComputeTarget:
        """With a configuration, as ComputeTarget.attach takes it, or with its parts, as the first SDKs did."""
        if attach_configuration is None and not isinstance(username, str):
            attach_configuration = username
        if attach_configuration is None:
            attach_configuration = RemoteCompute.attach_configuration(
                str(username),
                address=address,
                ssh_port=ssh_port,
                password=password,
                private_key_file=private_key_file,
                private_key_passphrase=private_key_passphrase,
            )
        return ComputeTarget.attach(workspace, name, attach_configuration)

    def detach(self) -> None:
        """The machine itself stays as it is. Refused while a run uses it."""
        self.delete()

    def get_credentials(self) -> dict[str, Any]:
        raise ComputeTargetException(
            f"What lets Trainyard into {self.name} is kept encrypted and is not given out. Use your own key."
        )

    def _take(self, record: ComputeRecord) -> None:
        super()._take(record)
        self.is_attached = True
        self.address, self.ssh_port = record.address or "", record.ssh_port or 22
        self.username = record.username or ""
        self.vm_size = record.vm_size or None


class DsvmProvisioningConfiguration:
    def __init__(self, vm_size: str | None) -> None:
        self.vm_size = vm_size

    def _new_compute(self, name: str) -> NewCompute:
        return NewCompute(name, kind=DSVM_KIND, vm_size=self.vm_size or "", min_nodes=1, max_nodes=1)


class DsvmCompute(ComputeTarget):
    """A virtual machine that Azure would have made: here it is one node of this machine that is always up."""

    _compute_type: ClassVar[str | None] = DSVM_KIND

    address: str
    ssh_port: int
    vm_size: str

    @staticmethod
    def provisioning_configuration(
        vm_size: str | None = None, ssh_port: Any = None, location: str | None = None
    ) -> DsvmProvisioningConfiguration:
        no_effect("DsvmCompute.provisioning_configuration", ssh_port=ssh_port, location=location)
        return DsvmProvisioningConfiguration(vm_size)

    def _take(self, record: ComputeRecord) -> None:
        super()._take(record)
        self.address, self.ssh_port, self.vm_size = "localhost", 22, record.vm_size


def attach(workspace: Workspace, name: str, attach_configuration: Any) -> ComputeTarget:
    """What ComputeTarget.attach does: reaches the machine at once, so that what is wrong is told here."""
    check_target_name(name)
    make = getattr(attach_configuration, "_new_attach", None)
    if make is None:
        raise ComputeTargetException(
            f"{type(attach_configuration).__name__} is not an attach configuration. Use "
            "RemoteCompute.attach_configuration(...)."
        )
    try:
        record = workspace._clients.computes.attach(make(name))
    except AzureMLException as error:
        if isinstance(error, ComputeTargetException):
            raise
        raise ComputeTargetException(error.message, error.inner_exception) from error
    return ComputeTarget(workspace, name, _record=record)


def _read_key(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ComputeTargetException(f"The private_key_file {path} cannot be read: {error}. Check the path.") from error
