"""Workspaces, experiments and runs as they travel. Times are UTC nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trainyard.contract.data import RunInput, RunOutput
from trainyard.contract.states import RunState

LOCAL_TARGET = "local"
MAX_DURATION_S = 2_592_000  # the SDK's default: 30 days
SCRIPT_RUN = "azureml.scriptrun"
HYPERDRIVE = "hyperdrive"  # a sweep: it has no processes of its own, the service conducts it


@dataclass(frozen=True)
class WorkspaceRecord:
    id: str
    name: str
    subscription_id: str
    resource_group: str
    location: str
    created_by: str
    created_ns: int
    friendly_name: str | None = None
    description: str | None = None
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ExperimentRecord:
    id: str
    workspace_id: str
    name: str
    created_by: str
    created_ns: int
    tags: dict[str, str | None] = field(default_factory=dict)
    archived_ns: int | None = None


@dataclass(frozen=True)
class EnvironmentSpec:
    """Where a run's interpreter comes from. `definition` is the SDK's own JSON, kept whole for display and builders."""

    name: str = "default-environment"
    version: str | None = None
    user_managed: bool = False
    interpreter: str | None = None  # an absolute path or a program on PATH; user-managed environments only
    variables: dict[str, str] = field(default_factory=dict)
    definition: dict[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None  # written by the service when it is built: the key of the built environment
    lock: str | None = None  # written by the service: digest of the resolved lock, to build it elsewhere or again


@dataclass(frozen=True)
class Role:
    """How many processes of a kind a run has, over all its nodes."""

    name: str  # worker, ps, chief
    count: int


@dataclass(frozen=True)
class RunSpec:
    """Everything a submitted run is. Inert: nothing reads the world through it and nobody changes it."""

    target: str = LOCAL_TARGET
    script: str | None = None  # relative to the snapshot; run with the environment's interpreter
    arguments: tuple[str, ...] = ()
    command: str | None = None  # instead of a script: a line for the node's shell
    nodes: int = 1
    min_nodes: int = (
        0  # it may begin with as few as these, when so many are not free; 0: with `nodes` and no other count
    )
    max_restarts: int = 0  # how often it is started again when something of it is lost
    launcher: str = "single"  # a key of trainyard.launchers
    roles: tuple[Role, ...] = ()  # what the launcher starts; () is one worker on each node
    ports: int = 0  # how many ports each node holds for the launcher to hand out
    environment: EnvironmentSpec = EnvironmentSpec()
    variables: dict[str, str] = field(default_factory=dict)  # the run's own
    inherited: dict[str, str] = field(
        default_factory=dict
    )  # from the submitting process: what finds programs and caches
    snapshot_id: str | None = None
    max_duration_s: int = MAX_DURATION_S
    collect_outputs: bool = True
    watched: tuple[str, ...] = ("logs",)  # folders uploaded while the run runs
    relax_pins: bool = False
    inputs: tuple[RunInput, ...] = ()
    outputs: tuple[RunOutput, ...] = ()
    outputs_from: str | None = None  # a run whose ./outputs are laid out before the script starts
    definition: dict[str, Any] = field(default_factory=dict)  # the SDK's runDefinition, shown by get_details()


@dataclass(frozen=True)
class NewRun:
    """A request for a run: submitted (with `spec`) or interactive (without)."""

    experiment: str
    spec: RunSpec | None = None
    run_id: str | None = None
    parent_run_id: str | None = None
    type: str | None = None
    display_name: str | None = None
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    started: bool = True  # interactive runs: open at once, or wait for start()
    params: dict[str, str] = field(default_factory=dict)  # hyperparameters, where they are known apart from arguments


@dataclass(frozen=True)
class RunError:
    """Why a run failed: a code for programs, a sentence that says what to do, and the last lines it wrote."""

    code: str
    message: str
    exit_code: int | None = None
    node: int | None = None
    rank: int | None = None
    last_lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunRecord:
    run_id: str
    workspace_id: str
    experiment: str
    number: int  # counts up within its experiment
    state: RunState
    reason: str  # why it is in that state
    attempt: int  # 0 before the first
    events: int  # how long its history is: what `wait` counts from
    created_by: str
    created_ns: int
    type: str | None = None
    target: str | None = None
    nodes: int = 1
    parent_run_id: str | None = None
    root_run_id: str | None = None
    display_name: str | None = None
    description: str | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    snapshot_id: str | None = None
    error: RunError | None = None
    warnings: tuple[str, ...] = ()
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    spec: RunSpec | None = None  # left out of lists
    spool: str | None = None  # interactive runs: the folder on the service's machine that its metrics go to


@dataclass(frozen=True)
class RunChange:
    """A change of what users may change; None leaves a field alone."""

    set_tags: dict[str, str | None] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    add_properties: dict[str, str] = field(default_factory=dict)
    display_name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class RunQuery:
    """A filter for lists; runs come newest first. `after` is the run id a page goes on from."""

    experiment: str | None = None
    parent_run_id: str | None = None
    recursive: bool = False  # with parent_run_id: all descendants
    include_children: bool = False
    types: tuple[str, ...] = ()
    states: tuple[RunState, ...] = ()
    tags: dict[str, str | None] = field(default_factory=dict)  # None: has the tag, whatever its value
    properties: dict[str, str | None] = field(default_factory=dict)
    target: str | None = None
    after: str | None = None
    limit: int = 100


@dataclass(frozen=True)
class RunEvent:
    """One line of a run's history, written in the transaction that made it true."""

    sequence: int
    time_ns: int
    attempt: int
    state: RunState
    reason: str
    actor: str


@dataclass(frozen=True)
class RunFile:
    name: str
    size: int
    digest: str | None  # None: a log, still growing; it has an offset, not a digest
