"""Models as they travel: a name, a version, and content by its digest."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

LATEST = "latest"  # an alias that is always on the newest version


class Framework(StrEnum):
    """The SDK's strings, and two of ours at the end."""

    CUSTOM = "Custom"
    TENSORFLOW = "TensorFlow"
    SCIKITLEARN = "ScikitLearn"
    ONNX = "Onnx"
    TFKERAS = "TfKeras"
    PYTORCH = "PyTorch"
    MULTI = "Multi"
    XGBOOST = "XGBoost"
    LIGHTGBM = "LightGBM"


@dataclass(frozen=True)
class Resources:
    """What one replica of a service with this model is given; None: the service's own default."""

    cpu: float | None = None
    memory_in_gb: float | None = None
    gpu: int | None = None


@dataclass(frozen=True)
class ModelSource:
    """Where a new model's content is: in the store already (`content`: the digest of its tree), or among a run's files
    (`run_id` and `path`, which names a file or a folder)."""

    content: str | None = None
    path: str | None = None
    run_id: str | None = None
    child_paths: tuple[str, ...] = ()  # of a folder only these


@dataclass(frozen=True)
class NewModel:
    name: str
    source: ModelSource
    request_id: str  # made by the sender: sent twice, it is registered once
    framework: str | None = None
    framework_version: str | None = None
    description: str | None = None
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    resources: Resources | None = None
    sample_input_dataset: str | None = None
    sample_output_dataset: str | None = None
    datasets: tuple[tuple[str, ...], ...] = ()  # (what it was used for, the dataset's id)


@dataclass(frozen=True)
class Lineage:
    """Where a model is from, as far as its run knows."""

    run_id: str
    experiment: str
    snapshot_id: str | None = None  # the code
    environment: str | None = None  # its name
    environment_version: str | None = None
    environment_fingerprint: str | None = None  # the built one's key
    environment_lock: str | None = None  # digest of the resolved lock
    interpreter: str | None = None  # of an environment that its user manages: nothing was built
    properties: dict[str, str] = field(default_factory=dict)  # git commit and the like


@dataclass(frozen=True)
class ModelRecord:
    name: str
    version: int
    workspace_id: str
    content: str  # digest of its tree
    files: int
    size: int
    created_by: str
    created_ns: int
    modified_ns: int
    framework: str | None = None
    framework_version: str | None = None
    description: str | None = None
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    resources: Resources | None = None
    sample_input_dataset: str | None = None
    sample_output_dataset: str | None = None
    datasets: tuple[tuple[str, ...], ...] = ()
    lineage: Lineage | None = None
    aliases: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.name}:{self.version}"


@dataclass(frozen=True)
class ModelChange:
    """A change of what users may change; None leaves a field alone. A property is written once."""

    set_tags: dict[str, str | None] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    replace_tags: dict[str, str | None] | None = None
    add_properties: dict[str, str] = field(default_factory=dict)
    description: str | None = None
    resources: Resources | None = None
    sample_input_dataset: str | None = None
    sample_output_dataset: str | None = None
    add_datasets: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class ModelQuery:
    """A filter for lists; the newest come first. A label without a value means: has it, whatever its value."""

    name: str | None = None
    version: int | None = None
    alias: str | None = None
    tags: tuple[tuple[str | None, ...], ...] = ()  # (key,) or (key, value)
    properties: tuple[tuple[str | None, ...], ...] = ()
    run_id: str | None = None
    framework: str | None = None
    dataset_id: str | None = None
    latest: bool = False  # of each name only the newest
    before: int | None = None  # a page goes on below this key of the page before
    limit: int = 255


@dataclass(frozen=True)
class ModelPage:
    models: tuple[ModelRecord, ...]
    next: int | None = None  # the next page's `before`; None: that was all


def split_id(model_id: str) -> tuple[str, str | None]:
    """`name:3` or `name@alias` to its parts; a bare name has no second part."""
    for mark in (":", "@"):
        name, found, rest = model_id.partition(mark)
        if found:
            return name, rest
    return model_id, None


def as_json(resources: Resources | None) -> dict[str, Any] | None:
    """As the SDK writes it."""
    if resources is None:
        return None
    return {"cpu": resources.cpu, "memoryInGB": resources.memory_in_gb, "gpu": resources.gpu}
