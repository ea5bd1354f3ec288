"""What an agent and the service say to each other, and what a job knows about itself."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

from trainyard.contract.codec import from_json, to_json
from trainyard.contract.runs import RunError, RunSpec

# What marks every process of an attempt, so that none can be lost: a sweep finds them by this variable.
ATTEMPT_VARIABLE = "TRAINYARD_ATTEMPT"
ATTACHED = "attached"  # a node's folder of files that a job logged
JOB_CONTEXT_VARIABLE = "TRAINYARD_JOB"  # path of the JobContext file


@dataclass(frozen=True)
class AgentOrder:
    """What an agent is started with (JSON, in a file only its owner reads or on a private socket)."""

    attempt_id: str
    node: int
    token: str
    endpoint: str | None  # None: the service of `home` on this machine, wherever it is now
    home: str  # the agent's TRAINYARD_HOME: caches, environments, overlay
    work: str  # a folder of this attempt on this node's disk
    shared_blobs: str | None = None  # the service's blob folder, when this node sees it
    ports: int = 0  # how many free ports to find, hold and name when arriving


@dataclass(frozen=True)
class Arrival:
    """An agent has come up and can be reached here."""

    node: int
    host: str
    address: str
    pid: int
    ports: tuple[int, ...] = ()  # free here, and held until the processes they are for are started


@dataclass(frozen=True)
class Peer:
    node: int
    host: str
    address: str
    ports: tuple[int, ...] = ()


@dataclass(frozen=True)
class Orders:
    """The answer to an arrival once every node has arrived (until then `go` is False and the agent asks again)."""

    go: bool
    cancel: bool = False
    run_id: str = ""
    attempt: int = 1
    workspace_id: str = ""
    workspace_name: str = ""
    subscription_id: str = ""
    resource_group: str = ""
    experiment: str = ""
    experiment_id: str = ""
    target_kind: str = ""
    spec: RunSpec | None = None
    peers: tuple[Peer, ...] = ()
    gpus: tuple[str, ...] = ()  # what CUDA_VISIBLE_DEVICES holds on this node
    restore_outputs: bool = False  # a later attempt: lay the run's outputs back first
    deadline_ns: int = 0
    private_addresses: bool = True  # whether data may be fetched from them


@dataclass(frozen=True)
class NodeEnded:
    """All processes of a node are gone. `error` is None for success."""

    exit_code: int | None = None
    error: RunError | None = None
    stopped: bool = False  # ended because it was told to
    taken_along: bool = False  # failed, and says itself that it did because another process was gone


@dataclass(frozen=True)
class ReportAnswer:
    """What the service has of each stream now (the sender goes on from there), and whether the agent is to stop."""

    acked: dict[str, int] = field(default_factory=dict)
    cancel: bool = False
    reason: str = ""
    done: bool = False  # no node waits for a process any more: what only serves the others is to be stopped


@dataclass(frozen=True)
class JobContext:
    """What a job's process knows about itself: written by the agent, read by the SDK."""

    run_id: str
    attempt: int
    attempt_id: str
    workspace_id: str
    workspace_name: str
    subscription_id: str
    resource_group: str
    experiment: str
    experiment_id: str
    endpoint: str | None
    home: str | None
    spool: str  # folder for metric tapes
    working: str  # the job's working folder
    node: int = 0
    rank: int = 0
    shared_blobs: str | None = None
    last_on_path: str | None = None  # pure Python packages a job may need to submit children; goes last on sys.path

    @property
    def attached(self) -> str:
        """The folder whose files become the run's as they are; the agent takes them."""
        return os.path.join(os.path.dirname(self.spool), ATTACHED)

    def write(self, path: str) -> None:
        """For its owner's eyes only."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(json.dumps(to_json(self)))

    @staticmethod
    def read(path: str) -> JobContext:
        with open(path, encoding="utf-8") as file:
            return from_json(JobContext, json.load(file))

    @staticmethod
    def of_this_process() -> JobContext | None:
        path = os.environ.get(JOB_CONTEXT_VARIABLE)
        return JobContext.read(path) if path and os.path.exists(path) else None
