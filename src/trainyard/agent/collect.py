"""The files a run leaves: looked for while it runs and at its end, each version stored once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from trainyard.blobs.base import BlobStore
from trainyard.contract.codec import to_json
from trainyard.contract.errors import DigestMismatch, InvalidName
from trainyard.contract.frames import Frame
from trainyard.contract.names import check_file_name
from trainyard.contract.runs import RunFile

_QUIET_NS = 1_000_000_000  # while the run runs, a file is taken once nobody has written to it for this long
_GROWN = 1.25  # and one that only ever grows whenever it has grown by so much: all versions are a few times the last
_PER_FRAME = 2000  # files


@dataclass
class Collector:
    """`folders` are names below `working`; files in those of `growing` are logs, which are of use half written. `seen`
    says which version of each file is stored."""

    working: str
    folders: tuple[str, ...]
    store: BlobStore
    log: Callable[[str], None]
    growing: tuple[str, ...] = ()
    seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _untold: list[RunFile] = field(default_factory=list)  # stored, and nobody was told: the look was broken off

    def collect(self, *, settled: bool) -> list[RunFile]:
        """Store what is new or changed since the last time. `settled`: the processes are gone, take everything."""
        for name, path in self._files():
            try:
                stat = os.stat(path)
                version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
                if self.seen.get(name) == version or not (settled or self._ripe(name, stat)):
                    continue
                blob = self.store.put_file(path)
            except (FileNotFoundError, DigestMismatch):
                continue  # removed, or written to, while we looked; the next look sees what it is then
            except (PermissionError, IsADirectoryError) as error:
                self.log(f"{name} was not collected: {error.strerror}.")
                self.seen[name] = version
                continue
            self._untold.append(RunFile(name, blob.size, blob.digest))
            self.seen[name] = version
        files, self._untold = self._untold, []
        if files:
            many = "file" if len(files) == 1 else "files"
            self.log(f"Collected {len(files)} {many}, {sum(file.size for file in files)} bytes.")
        return files

    def _ripe(self, name: str, stat: os.stat_result) -> bool:
        """Whether a file of a running job is worth taking now."""
        if time.time_ns() - stat.st_mtime_ns > _QUIET_NS:
            return True
        is_log = name.startswith(tuple(f"{folder}/" for folder in self.growing))
        return is_log and (name not in self.seen or stat.st_size >= _GROWN * self.seen[name][1])

    def remember(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.seen, file)

    def recall(self, path: str) -> None:
        """Go on from what another node of this folder has stored."""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.seen.update({name: (one, two, three) for name, (one, two, three) in json.load(file).items()})

    def _files(self) -> Iterator[tuple[str, str]]:
        for folder in dict.fromkeys(self.folders):
            for at, below, names in os.walk(os.path.join(self.working, folder)):
                below.sort()
                for name in sorted(names):
                    path = os.path.join(at, name)
                    if not os.path.isfile(path):
                        continue  # a socket, a pipe, a link to nothing
                    try:
                        relative = os.path.relpath(path, self.working)
                        relative.encode()
                        yield check_file_name(relative), path
                    except (InvalidName, UnicodeEncodeError):
                        self.log(f"{relative!r} was not collected: its name is not UTF-8 or too long. Rename it.")


def frames_of(files: list[RunFile]) -> list[Frame]:
    parts = [files[at : at + _PER_FRAME] for at in range(0, len(files), _PER_FRAME)]
    return [Frame("files", payload=json.dumps(to_json(part)).encode()) for part in parts]
