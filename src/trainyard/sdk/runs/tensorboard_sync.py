"""sync_tensorboard: the scalars in event files become metrics of the run, each once, with their steps and times."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator

from trainyard.sdk.effects import note_once
from trainyard.sdk.runs.event_files import Scalar, decode
from trainyard.sdk.runs.run_files import RunFiles

_EVERY_S = 2.0
_BLOCK = 8 << 20
_MARK = "tfevents"

Log = Callable[[str, float, int, int], object]  # (name, value, step, time in ns)


class Follower:
    """Follows the event files below a folder. A file in a folder below gives its metrics that folder's name."""

    def __init__(self, folder: str, log: Log) -> None:
        self._folder = os.path.abspath(folder)
        self._log = log
        self._read: dict[str, int] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Looks every few seconds, and once more when this process ends."""
        atexit.register(self.look)
        threading.Thread(target=self._work, name="trainyard-tensorboard", daemon=True).start()

    def look(self) -> None:
        with self._lock:
            for path in sorted(_event_files(self._folder)):
                try:
                    self._take(path)
                except OSError as error:
                    note_once(f"{path} could not be read for its metrics: {error}")

    def _work(self) -> None:
        pause = threading.Event()
        while not pause.wait(_EVERY_S):
            self.look()

    def _take(self, path: str) -> None:
        below = os.path.relpath(os.path.dirname(path), self._folder)
        with open(path, "rb") as file:
            rest = b""
            file.seek(self._read.get(path, 0))
            while block := file.read(_BLOCK):
                rest += block
                scalars, used = decode(rest)
                for scalar in scalars:
                    self._log(name_of(below, scalar.tag), scalar.value, scalar.step, time_ns(scalar))
                rest = rest[used:]
                self._read[path] = self._read.get(path, 0) + used


def import_logs(run: RunFiles, log: Log) -> int:
    """The event files that the run has among its `logs/`; answers how many values were new."""
    new = 0
    known: dict[str, set[tuple[int | None, int]]] = {}
    for name in run.get_file_names():
        if not name.startswith("logs/") or _MARK not in os.path.basename(name):
            continue
        below = os.path.dirname(name)[len("logs/") :] or os.curdir
        for scalar in decode(run._content_of(run.id, name))[0]:
            metric = name_of(below, scalar.tag)
            if metric not in known:
                series = run._runs.metrics(run.id, metric)
                known[metric] = {pair for one in series for pair in zip(one.steps, one.times_ns, strict=True)}
            this = (scalar.step, time_ns(scalar))
            if this not in known[metric]:
                known[metric].add(this)
                log(metric, scalar.value, *this)
                new += 1
    return new


def name_of(below: str, tag: str) -> str:
    return tag if below == os.curdir else f"{below.replace(os.sep, '/')}/{tag}"


def time_ns(scalar: Scalar) -> int:
    return round(scalar.wall_time * 1e9)


def _event_files(folder: str) -> Iterator[str]:
    for at, _, names in os.walk(folder):
        for name in names:
            if _MARK in name:
                yield os.path.join(at, name)
