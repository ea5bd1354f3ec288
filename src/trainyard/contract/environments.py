"""Environments as they travel: registered definitions, and builds of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# Helpers for old scripts, inside the job: all that a script needs, none, or some by name.
SHIMS_AUTO, SHIMS_OFF = "auto", "off"
SHIMS = ("addresses", "keras", "mnist", "numpy", "sklearn", "tensorflow", "torch")
SHIMS_VARIABLE = "TRAINYARD_SHIMS"

LOCK_FILE = "azureml-setup/environment.lock"  # the run's file that holds its environment's resolved lock


@dataclass(frozen=True)
class EnvironmentRecord:
    """One registered version. `definition` is the SDK's own JSON, with this name and version in it."""

    workspace_id: str
    name: str
    version: str  # "1", "2", …
    definition: dict[str, Any]
    created_by: str
    created_ns: int
    labels: tuple[str, ...] = ()  # names of this version; each is on one version of the environment at a time


@dataclass(frozen=True)
class NewBuild:
    """A wish for a built environment, without a run."""

    definition: dict[str, Any]
    relax_pins: bool = False


class BuildState(StrEnum):
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


BUILD_ENDS = frozenset({BuildState.SUCCEEDED, BuildState.FAILED})


@dataclass(frozen=True)
class BuildRecord:
    build_id: str
    workspace_id: str
    name: str  # the environment's
    state: BuildState
    reason: str  # why it is in that state; of a failed build the sentence that says what to do
    created_by: str
    created_ns: int
    fingerprint: str | None = None  # None: nothing has to be built (user-managed, or nothing in it)
    lock: str | None = None  # digest of the resolved lock, once it is known
    warnings: tuple[str, ...] = ()  # one sentence for each version that was replaced
    ended_ns: int | None = None
    details: dict[str, Any] = field(default_factory=dict)  # of a failed build: its error's
