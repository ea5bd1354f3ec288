"""What a deployed service is told, and what it tells: two JSON files in its folder, the plan written by the service's
owner (the server), the status by the front process. Neither holds a key in the clear."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

PLAN_FILE = "plan.json"  # ServicePlan; the front reads it at its start and again at SIGHUP
STATUS_FILE = "status.json"  # ServiceStatus; replaced whole whenever something changes
LOG_FILE = "service.log"  # what the front and the workers print


class Auth(StrEnum):
    NONE = "none"
    KEY = "key"
    TOKEN = "token"  # noqa: S105 - the name of a kind


class ServiceState(StrEnum):
    """The SDK's own words."""

    TRANSITIONING = "Transitioning"
    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    FAILED = "Failed"
    UNSCHEDULABLE = "Unschedulable"


class ScorerKind(StrEnum):
    """What a worker runs: the user's init() and run(), or a model of a framework without code."""

    SCRIPT = "script"
    TENSORFLOW = "tensorflow"
    ONNX = "onnx"
    SKLEARN = "sklearn"
    TORCH = "torch"
    KERAS = "keras"
    XGBOOST = "xgboost"
    LIGHTGBM = "lightgbm"


@dataclass(frozen=True)
class Scorer:
    """One deployed version: where its code, models and interpreter are, all laid out before the front hears of it."""

    version: str
    interpreter: str  # absolute; the worker needs nothing there but the standard library
    models: str  # what AZUREML_MODEL_DIR holds
    kind: ScorerKind = ScorerKind.SCRIPT
    source: str | None = None  # folder of the scoring code: the worker's working folder, first on its path
    entry_script: str | None = None  # relative to `source`
    model_path: str | None = None  # the one model's file or folder, for the kinds without code
    variables: dict[str, str] = field(default_factory=dict)
    workers: int = 1  # processes at the least
    most_workers: int = 1  # processes at the most, where it scales by load
    target: float = 0.7  # of its slots in use: under more load than this another process is started
    refresh_s: int = 1  # between two looks at the load
    threads: int = 1  # requests that one worker handles at a time (max_concurrent_requests_per_container)
    traffic: int = 100  # per cent of the requests that name no version
    mirror: int = 0  # per cent of the requests that it gets a copy of, its answers thrown away
    batch: int = 1  # most requests in one call, for scorers that take batches
    batch_wait_ms: float = 0.0  # how long a batch that is being formed under load may wait
    smoke: str | None = None  # a JSON body that must be answered before the version takes traffic
    memory_mb: int = 0  # a worker that holds more is replaced; 0: no limit
    revision: int = 0  # rises when what is in the folders changed and nothing else did: new workers are started


@dataclass(frozen=True)
class ServicePlan:
    name: str
    generation: int  # rises with every plan; the status says which one it is about
    host: str = "127.0.0.1"
    port: int = 0  # 0: a free one, kept from then on
    auth: Auth = Auth.NONE
    key_digests: tuple[str, ...] = ()  # SHA-256 of the keys that are accepted, in hex
    token_digests: dict[str, int] = field(default_factory=dict)  # SHA-256 of a token → the UTC ns when it ends
    scorers: tuple[Scorer, ...] = ()
    scoring_timeout_ms: int = 60_000
    init_timeout_s: float = 300.0
    queue: int = 500  # requests that may wait; one more is answered 503
    queue_wait_ms: int = 0  # how long one may wait for a worker before it is answered 503; 0: as long as it may run
    body_limit: int = 100 << 20
    certificate: str | None = None  # PEM file of a key and its certificates, for https
    collect: str | None = None  # folder for collected inputs and outputs, where data collection is on


@dataclass(frozen=True)
class ScorerStatus:
    version: str
    state: ServiceState
    workers: int = 0
    error: str | None = None  # a sentence, with the traceback of init() where there is one
    restarts: int = 0


@dataclass(frozen=True)
class ServiceStatus:
    """`state` is about the plan of `generation`: Failed with an error also while an earlier plan goes on serving."""

    name: str
    generation: int
    state: ServiceState
    pid: int
    url: str  # http(s)://host:port, without a path
    scorers: tuple[ScorerStatus, ...] = ()
    error: str | None = None
    changed_ns: int = 0
    serving: int = 0  # generation of the plan that takes traffic; 0: none does
