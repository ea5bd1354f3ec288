"""The folders of an attempt on this node. Nodes that share a disk share one working folder.

- <work>/node-<n>/: what is one node's own: logs, job contexts, spool. Made before the node arrives, so once all have
  arrived every node sees which others share the folder.
- <work>/node-<n>.out: its processes are gone. Only written where several nodes share the folder.
- <work>/wd: the job's working folder with snapshot, outputs, logs; it is <work>/wd.new until it is laid out.

Every run makes and removes these, and a file system pays for each: what one can do without is not made.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from trainyard.blobs.base import BlobStore
from trainyard.blobs.snapshot import materialise
from trainyard.contract.names import check_file_name
from trainyard.contract.runs import RunFile


@dataclass(frozen=True)
class Workplace:
    work: str
    node: int

    @property
    def name(self) -> str:
        return f"node-{self.node}"

    @property
    def working(self) -> str:
        return os.path.join(self.work, "wd")

    @property
    def collected(self) -> str:
        return os.path.join(self.work, "collected.json")

    def own(self, *parts: str) -> str:
        return os.path.join(self.work, self.name, *parts)

    def stream(self, log: str) -> str:
        """The file on this node that holds what the run's log of that name gets from it."""
        return self.own(os.path.basename(log))

    def move_in(self) -> None:
        os.makedirs(self.own("spool"), mode=0o700, exist_ok=True)

    def leads(self) -> bool:
        """Whether this is the lowest node of those that share the folder: the one that collects while they run."""
        return self.node == min(self._nodes(""))

    def shared_by(self, nodes: int) -> bool:
        """Whether every node of the attempt sees this folder."""
        return len(self._nodes("")) == nodes

    def lay_out(self, snapshot_id: str | None, store: BlobStore, restore: list[RunFile]) -> bool:
        """Snapshot and restored files into the working folder. False: another node had done it."""
        fresh = self.working + ".new"
        with self._locked():
            if os.path.exists(self.working):
                return False
            os.makedirs(fresh, exist_ok=True)
            if snapshot_id is not None:
                materialise(store, snapshot_id, fresh)
            for file in restore:
                if file.digest is not None:
                    store.write_to(file.digest, os.path.join(fresh, check_file_name(file.name)))
            for folder in ("outputs", "logs"):
                os.makedirs(os.path.join(fresh, folder), exist_ok=True)
            os.rename(fresh, self.working)
        return True

    @contextlib.contextmanager
    def leaving(self) -> Iterator[bool]:
        """Says whether this node is the last of those that share the folder whose processes are gone."""
        with self._locked():
            others = self._nodes("") - {self.node}
            if others:
                _touch(self.own() + ".out")
            yield others <= self._nodes(".out")

    def clear(self) -> None:
        """The working folder, gone."""
        for folder in (self.working, self.working + ".new"):
            shutil.rmtree(folder, ignore_errors=True)

    def move_out(self, *, last: bool) -> None:
        """Remove what nobody needs any more; the last one out takes the rest along."""
        if last and self._nodes("") <= {self.node}:
            shutil.rmtree(self.work, ignore_errors=True)
            return
        shutil.rmtree(self.own(), ignore_errors=True)
        if last:
            self.clear()
        if not self._nodes("") and not os.path.exists(self.working):
            shutil.rmtree(self.work, ignore_errors=True)

    def _nodes(self, suffix: str) -> set[int]:
        names = (name.removesuffix(suffix) for name in os.listdir(self.work) if name.endswith(suffix))
        return {int(name[5:]) for name in names if name.startswith("node-") and name[5:].isdigit()}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        fd = os.open(self.work, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
