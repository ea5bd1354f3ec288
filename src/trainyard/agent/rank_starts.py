"""When each rank on this node started: what we start ourselves is known at once, what mpirun and torchrun start leaves
a file in the node's folder."""

from __future__ import annotations

import contextlib
import os
import time

from trainyard.contract.frames import Frame
from trainyard.launchers.base import Process

LOOK_EVERY_S = 0.1


class RankStarts:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[int, int] = {}
        self._missing: set[int] = set()
        self._told = False

    @property
    def waiting(self) -> bool:
        """Whether somebody has to look again."""
        return bool(self._missing)

    def expect(self, process: Process) -> None:
        """A process that was just started, or will be by another node."""
        if process.ranks:
            self._missing |= set(process.ranks)
        else:
            self._known[process.rank] = time.time_ns()

    def news(self) -> list[Frame]:
        """Once, when all of them have started."""
        for rank in list(self._missing):
            with contextlib.suppress(OSError):
                self._known[rank] = os.stat(os.path.join(self._folder, f"rank-{rank}.start")).st_mtime_ns
                self._missing.remove(rank)
        if self._missing or self._told or not self._known:
            return []
        self._told = True
        return [Frame("ranks", {"started": {str(rank): at for rank, at in self._known.items()}})]
