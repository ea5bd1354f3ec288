"""Deployed services as clients see them; what their front processes are told is in contract/serving.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainyard.contract.runs import EnvironmentSpec
from trainyard.contract.serving import Auth, ScorerKind, ServiceState


class ServiceKind(StrEnum):
    """The SDK's compute types of services. All of them run the same way; they differ in defaults and in their words."""

    LOCAL = "Local"
    ACI = "ACI"
    AKS = "AKS"
    ENDPOINT = "AKSENDPOINT"


class OperationState(StrEnum):
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    TIMED_OUT = "TimedOut"


@dataclass(frozen=True)
class ModelRef:
    """A model of a service: a registered one, or (version 0) files that came with a local deployment."""

    name: str
    version: int
    content: str | None = None  # digest of its tree; the service fills it in for registered ones


@dataclass(frozen=True)
class CodeSpec:
    """A scoring script and what it runs in."""

    content: str  # digest of the tree that becomes the working folder
    entry_script: str  # relative to it
    environment: EnvironmentSpec
    relax_pins: bool = False
    source_path: str | None = None  # where it was taken from, for reload() of a local service


@dataclass(frozen=True)
class Scaling:
    """How many processes answer, and how much each takes at a time."""

    cpu_cores: float | None = None
    memory_gb: float | None = None
    gpu_cores: int | None = None
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    autoscale: bool | None = None
    target_utilization: int | None = None  # per cent
    refresh_s: int | None = None
    init_timeout_s: int | None = None
    concurrent_requests: int | None = None
    timeout_ms: int | None = None
    queue: int | None = None
    queue_wait_ms: int | None = None
    batch: int | None = None
    batch_wait_ms: float | None = None


@dataclass(frozen=True)
class VersionSpec:
    """One version of a service, as it was asked for."""

    models: tuple[ModelRef, ...] = ()
    code: CodeSpec | None = None  # None: the model is served without code
    scaling: Scaling = Scaling()
    sample: str | None = None  # a JSON body that it must answer before it takes traffic
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    description: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)  # the SDK's own parameters, shown again as they were given


@dataclass(frozen=True)
class Share:
    """A version's part in an endpoint's traffic; None leaves it as it is."""

    traffic: int | None = None  # per cent
    mirror: int | None = None  # per cent of the requests that it gets a copy of
    is_default: bool | None = None
    is_control: bool | None = None


@dataclass(frozen=True)
class Certificate:
    """What a service answers https with. The key is never given back."""

    chain: str  # PEM, the service's own certificate first
    key: str = field(repr=False)  # PEM
    cname: str  # the name that it is for


@dataclass(frozen=True)
class NewService:
    name: str
    kind: ServiceKind
    version: VersionSpec
    request_id: str
    auth: Auth = Auth.NONE
    primary_key: str | None = None
    secondary_key: str | None = None
    version_name: str | None = None  # endpoints name theirs
    share: Share = Share()
    target: str | None = None  # an AKS compute target
    namespace: str | None = None
    port: int = 0
    collect: bool = False  # inputs and outputs are collected
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    description: str | None = None
    overwrite: bool = False
    certificate: Certificate | None = None  # None: plain http


@dataclass(frozen=True)
class ServiceChange:
    """None leaves a field alone. `version` replaces the served version, without a failed request; for an endpoint it is
    the version called `version_name`, which is new if there is none of that name."""

    version: VersionSpec | None = None
    version_name: str | None = None
    scaling: Scaling | None = None  # changes of what is served, with the rest of it as it is
    share: Share | None = None
    new_version: bool = False  # `version_name` must not be there yet
    tags: dict[str, str | None] | None = None
    remove_tags: tuple[str, ...] = ()
    add_tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] | None = None
    version_tags: dict[str, str | None] | None = None
    version_properties: dict[str, str] | None = None
    version_description: str | None = None
    description: str | None = None
    auth: Auth | None = None
    collect: bool | None = None
    port: int | None = None
    namespace: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    certificate: Certificate | None = None


@dataclass(frozen=True)
class VersionRecord:
    name: str
    revision: int  # rises whenever the version is replaced
    state: ServiceState
    spec: VersionSpec
    traffic: int
    mirror: int
    is_default: bool
    is_control: bool
    created_ns: int
    modified_ns: int
    error: str | None = None
    workers: int = 0
    environment: str | None = None  # fingerprint of the built one
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServiceRecord:
    id: str
    workspace_id: str
    name: str
    kind: ServiceKind
    state: ServiceState
    operation: OperationState  # of the last change that was asked for
    generation: int  # how often it changed: what `wait` counts from
    auth: Auth
    created_by: str
    created_ns: int
    modified_ns: int
    url: str | None = None  # http(s)://host:port, without a path
    port: int = 0
    error: str | None = None
    target: str | None = None
    namespace: str | None = None
    description: str | None = None
    collect: bool = False
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    versions: tuple[VersionRecord, ...] = ()
    warnings: tuple[str, ...] = ()
    chain: str | None = None  # the certificate that it answers https with, in PEM
    cname: str | None = None  # the name that one is for


@dataclass(frozen=True)
class ServiceKeys:
    primary: str
    secondary: str


@dataclass(frozen=True)
class NewKey:
    which: str  # Primary or Secondary
    key: str | None = None  # None: a generated one


@dataclass(frozen=True)
class ServiceToken:
    token: str
    refresh_after_ns: int
    expires_ns: int


@dataclass(frozen=True)
class Usage:
    """What a service's processes take now."""

    processes: int
    cpu_s: float  # since they were started
    memory_bytes: int


@dataclass(frozen=True)
class Recognised:
    """What serves a model without code, and in what."""

    kind: ScorerKind
    model_path: str  # of its file or folder, below the model's own folder
    environment: dict[str, Any]  # the SDK's JSON of an environment


@dataclass(frozen=True)
class ServiceQuery:
    kind: ServiceKind | None = None
    model_name: str | None = None
    model_id: str | None = None
    tags: tuple[tuple[str | None, ...], ...] = ()
    properties: tuple[tuple[str | None, ...], ...] = ()
    image_id: str | None = None


@dataclass(frozen=True)
class NewImage:
    """The 2018 API: a version of a service before it is deployed."""

    name: str
    version: VersionSpec
    request_id: str
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    description: str | None = None


@dataclass(frozen=True)
class ImageRecord:
    workspace_id: str
    name: str
    version: int
    state: OperationState
    spec: VersionSpec
    created_by: str
    created_ns: int
    build_id: str | None = None  # of its environment
    error: str | None = None
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    description: str | None = None

    @property
    def id(self) -> str:
        return f"{self.name}:{self.version}"
