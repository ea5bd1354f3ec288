"""What a builder is told. Quick to import: a builder that installs a lock needs little else."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from trainyard.environments.specification import Wanted

BUILD_DEADLINE_S = 6600  # below the two hours that a run may be in Preparing


@dataclass(frozen=True)
class Interpreter:
    path: str
    version: str

    @property
    def minor(self) -> tuple[int, int]:
        major, minor, *_ = self.version.split(".")
        return int(major), int(minor)


@dataclass(frozen=True)
class Request:
    """What a builder is told."""

    key: str
    name: str
    wanted: Wanted
    interpreter: Interpreter | None  # None: conda brings it
    notes: tuple[str, ...] = ()  # sentences for the run, known before the build
    log: tuple[str, ...] = ()  # sentences for the build's log
    gpu: bool = False
    lock: str | None = None  # the text of a resolved lock: installed as it is
    deadline_s: int = BUILD_DEADLINE_S
    answer_s: int = 30
    pythons: tuple[str, ...] = ()  # the versions there are here, to be named when none of them would do
    uv: str = ""  # the program's path, where it is known already: looking for it takes a builder longer than a plan


def platform() -> str:
    return f"{sys.platform}-{os.uname().machine}"
