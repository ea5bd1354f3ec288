"""ComputeTarget: a named place where runs run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.contract.computes import ComputeRecord
from trainyard.contract.names import check_name
from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import AzureMLException, ComputeTargetException, UserErrorException, code_of, sdk_errors
from trainyard.sdk.times import iso

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

RESERVED_NAMES = frozenset({"amlcompute", "local", "containerinstance"})
_KINDS = {
    "AmlCompute": "trainyard.sdk.computes.amlcompute:AmlCompute",
    "BatchAI": "trainyard.sdk.computes.batchai:BatchAiCompute",
    "AKS": "trainyard.sdk.computes.aks_compute:AksCompute",
    "ComputeInstance": "trainyard.sdk.computes.instance:ComputeInstance",
    "DSVM": "trainyard.sdk.computes.remote:DsvmCompute",
    "VirtualMachine": "trainyard.sdk.computes.remote:RemoteCompute",
}
_POLL_S = 0.2


class ComputeTarget:
    """ComputeTarget(workspace, name) is an object of the class of the target's kind."""

    _compute_type: ClassVar[str | None] = None

    # what the SDK's objects have as attributes
    name: str
    workspace: Workspace
    type: str
    id: str
    description: str | None
    tags: dict[str, str]
    location: str
    cluster_location: str
    cluster_resource_id: str | None
    is_attached: bool
    created_on: str | None
    modified_on: str | None
    provisioning_state: str
    provisioning_errors: Any
    _creating: bool

    def __new__(cls, workspace: Workspace, name: str, **kwargs: Any) -> ComputeTarget:
        record: ComputeRecord | None = kwargs.get("_record")
        if record is None:
            record = _find(workspace, name)
        kind = _class_of(record.kind)
        if not issubclass(kind, cls):
            raise ComputeTargetException(
                f"The compute target {name} is a {record.kind}, not a {cls.__name__}. Use "
                "ComputeTarget(workspace, name)."
            )
        made: ComputeTarget = object.__new__(kind)
        made.workspace = workspace
        made._creating = bool(kwargs.get("_creating", False))
        made._take(record)
        return made

    def __init__(self, workspace: Workspace, name: str, **kwargs: Any) -> None:
        del workspace, name, kwargs  # __new__ has asked the service

    @staticmethod
    def create(workspace: Workspace, name: str, provisioning_configuration: Any) -> ComputeTarget:
        """Makes the target, or brings the one of that name to this configuration; returns before its nodes are up."""
        check_target_name(name)
        make = getattr(provisioning_configuration, "_new_compute", None)
        if make is None:
            raise ComputeTargetException(
                f"{type(provisioning_configuration).__name__} is not a provisioning configuration. Use "
                "AmlCompute.provisioning_configuration(...)."
            )
        with compute_errors():
            record = workspace._clients.computes.create(make(name))
        show_warnings(record)
        return ComputeTarget(workspace, name, _record=record, _creating=True)

    @staticmethod
    def attach(workspace: Workspace, name: str, attach_configuration: Any) -> ComputeTarget:
        """Makes a machine of your own a target: see RemoteCompute.attach_configuration."""
        from trainyard.sdk.computes.remote import attach

        return attach(workspace, name, attach_configuration)

    @staticmethod
    def deserialize(workspace: Workspace, object_dict: dict[str, Any]) -> ComputeTarget:
        """The target that serialize() told of, as it is now."""
        if "name" not in object_dict:
            raise ComputeTargetException("A serialized compute target has a name. Pass what serialize() answered.")
        return ComputeTarget(workspace, object_dict["name"])

    def get_status(self) -> Any:
        self.refresh_state()
        return self.provisioning_state

    def refresh_state(self) -> None:
        self._take(_find(self.workspace, self.name))

    def serialize(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "tags": dict(self.tags),
            "location": self.location,
            "type": "Microsoft.MachineLearningServices/workspaces/computes",
            "properties": {
                "computeType": self.type,
                "computeLocation": self.cluster_location,
                "description": self.description,
                "resourceId": self.cluster_resource_id,
                "provisioningErrors": self.provisioning_errors,
                "provisioningState": self.provisioning_state,
                "createdOn": self.created_on,
                "modifiedOn": self.modified_on,
                "isAttachedCompute": self.is_attached,
            },
        }

    def delete(self) -> None:
        """Removes the target. Refused while a run uses it."""
        with compute_errors():
            self.workspace._clients.computes.delete(self.name)
        self.provisioning_state = "Deleting"

    def detach(self) -> None:
        raise ComputeTargetException(f"{self.name} was made here, not attached. Remove it with delete().")

    def wait_for_completion(self, show_output: bool = False, is_delete_operation: bool = False) -> None:
        if is_delete_operation:
            self._wait_until_gone(show_output)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name}, id={self.id}, "
            f"type={self.type}, provisioning_state={self.provisioning_state}, location={self.location}, "
            f"tags={self.tags})"
        )

    def _take(self, record: ComputeRecord) -> None:
        self._record = record
        self.name = record.name
        self.type = record.kind
        self.id = record.id
        self.description = record.description
        self.tags = dict(record.tags)
        self.location = self.cluster_location = self.workspace.location
        self.cluster_resource_id = None
        self.is_attached = False
        self.created_on, self.modified_on = iso(record.created_ns), iso(record.modified_ns)
        self.provisioning_state = record.provisioning_state
        self.provisioning_errors = None

    def _wait_until_gone(self, show_output: bool) -> None:
        if show_output:
            print("Deleting...", flush=True)
        while True:
            try:
                self.workspace._clients.computes.get(self.name)
            except ComputeTargetException as error:
                if code_of(error) != "compute.unknown":
                    raise
                break
            time.sleep(_POLL_S)
        if show_output:
            print('Provisioning operation finished, operation "Succeeded"')

    # last: below it `list` would mean this method

    @staticmethod
    def list(workspace: Workspace) -> list[ComputeTarget]:
        return [
            ComputeTarget(workspace, record.name, _record=record)
            for record in workspace._clients.computes.list()
            if record.kind in _KINDS
        ]


def check_target_name(name: Any) -> None:
    if str(name).lower() in RESERVED_NAMES:
        raise UserErrorException(
            f"{name!r} is a reserved name ({', '.join(sorted(RESERVED_NAMES))} are). Choose another for the target."
        )
    with compute_errors(), sdk_errors():
        check_name("a compute target", name)


@contextlib.contextmanager
def compute_errors() -> Iterator[None]:
    """Whatever cannot be done with a target is a ComputeTargetException, as scripts that catch one expect."""
    try:
        yield
    except AzureMLException as error:
        if isinstance(error, ComputeTargetException):
            raise
        raise ComputeTargetException(error.message, error.inner_exception) from error


def show_warnings(record: ComputeRecord) -> None:
    """Such as a vm_size that is larger than this machine."""
    for warning in record.warnings:
        tell_once(warning)


def _find(workspace: Workspace, name: str) -> ComputeRecord:
    with compute_errors():
        return workspace._clients.computes.get(name)


def _class_of(kind: str) -> type[ComputeTarget]:
    import importlib

    if kind not in _KINDS:
        raise ComputeTargetException(f"This version of Trainyard does not know compute targets of the kind {kind!r}.")
    module, _, name = _KINDS[kind].partition(":")
    found: type[ComputeTarget] = getattr(importlib.import_module(module), name)
    return found
