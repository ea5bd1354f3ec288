"""Where a builder works, and what it makes there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from trainyard.environments.locks import Lock
from trainyard.environments.request import Request
from trainyard.environments.store import Store
from trainyard.environments.uv import Uv

Log = Callable[[str], None]


@dataclass(frozen=True)
class Made:
    lock: Lock
    notes: tuple[str, ...] = ()

    def variables(self, folder: str) -> dict[str, str]:
        """What processes in it need beside the user's own variables."""
        said = {"CONDA_PREFIX": folder} if self.lock.conda else {}
        if self.lock.built:
            from trainyard.environments import horovod

            said |= horovod.variables(folder, self.lock.requirements)
        return said


@dataclass(frozen=True)
class Site:
    request: Request
    folder: str
    store: Store
    uv: Uv
    log: Log

    def install(self, lock: Lock) -> None:
        """The lock's packages into the folder's interpreter. Beside conda's, which stay."""
        self.uv.sync(lock.requirements, self.python, exact=not lock.conda)
        if lock.built:
            from trainyard.environments import horovod

            there = replace(lock, requirements="\n".join(self.uv.freeze(self.python)))  # conda's too
            wheel = horovod.wheel(self.uv, horovod.shelf(self.uv.variables), self.python, there, self.log)
            self.uv.install([wheel], self.python)

    @property
    def python(self) -> str:
        return os.path.join(self.folder, "bin", "python")

    @property
    def conda_cache(self) -> str:
        return os.path.join(self.store.root, ".conda-cache")

    def left_s(self) -> float:
        return max(1.0, self.uv.until - time.monotonic())
