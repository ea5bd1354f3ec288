"""Compute targets as they travel: a named record of backend, node shape and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Priority(StrEnum):
    DEDICATED = "dedicated"
    LOW = "lowpriority"  # nodes may be taken away; their run gets a new attempt


@dataclass(frozen=True)
class NodeShape:
    """What a node of this size has, capped to what the machine has."""

    cores: int
    memory_gb: float
    gpus: int = 0


@dataclass(frozen=True)
class NewCompute:
    name: str
    kind: str = "AmlCompute"  # the SDK's type string: AmlCompute, BatchAI
    backend: str = "local"
    vm_size: str = ""
    priority: Priority = Priority.DEDICATED
    min_nodes: int = 0
    max_nodes: int = 1
    idle_seconds: int = 120  # nodes above the minimum go after this long without a run
    description: str | None = None
    tags: dict[str, str] = field(default_factory=dict)


ATTACHED_KIND = "VirtualMachine"  # the SDK's type string of a machine that is reached over SSH


@dataclass(frozen=True)
class AttachCompute:
    """A machine to reach over SSH. Its secrets are kept encrypted and are never shown again."""

    name: str
    address: str
    username: str
    port: int = 22
    private_key: str = field(default="", repr=False)  # the key's text
    passphrase: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class ComputeChange:
    min_nodes: int | None = None
    max_nodes: int | None = None
    idle_seconds: int | None = None


@dataclass(frozen=True)
class ComputeRecord:
    id: str
    workspace_id: str
    name: str
    kind: str
    backend: str
    vm_size: str
    shape: NodeShape
    priority: Priority
    min_nodes: int
    max_nodes: int
    idle_seconds: int
    created_by: str
    created_ns: int
    modified_ns: int
    provisioning_state: str = "Succeeded"
    description: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # such as a vm_size larger than this machine
    address: str | None = None  # of an attached machine; with it
    ssh_port: int | None = None
    username: str | None = None


@dataclass(frozen=True)
class NodeRecord:
    """A logical node of a target that is up."""

    node_id: str
    state: str  # idle, preparing, running, leaving, preempted
    run_id: str | None
    since_ns: int


@dataclass(frozen=True)
class ComputeStatus:
    compute: ComputeRecord
    nodes: tuple[NodeRecord, ...] = ()
    target_nodes: int = 0
    steady: bool = True
    changed_ns: int = 0
