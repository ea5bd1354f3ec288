"""Where the metrics of this process go: a tape of its own in the run's spool, and a sender where nobody reads that."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainyard.contract.tape import NO_STEP, TapeWriter
from trainyard.sdk.effects import note_once

if TYPE_CHECKING:
    from trainyard.client.runs import Runs
    from trainyard.contract.attempts import JobContext
    from trainyard.sdk.runs.tape_sender import TapeSender

_all: weakref.WeakSet[Tape] = weakref.WeakSet()


class Tape:
    """One run's metrics. Its methods never raise; they answer False when a record could not be kept."""

    # (name, value, step): straight into the file once it is open; this is the call in training loops
    number: Callable[..., bool]

    def __init__(self, folder: Callable[[], str], rank: int = 0) -> None:
        self._folder = folder
        self.rank = rank
        self.path: str | None = None  # None until something is logged
        self._described: dict[str, str] = {}
        self._writer: TapeWriter | None = None
        self.number = self._first_number
        _all.add(self)

    def values(self, name: str, values: list[Any], step: int | None = None) -> bool:
        writer = self.open()
        return writer is not None and writer.values(name, values, NO_STEP if step is None else step)

    def point(self, name: str, value: float, step: int, time_ns: int) -> bool:
        writer = self.open()
        return writer is not None and writer.point(name, value, step, time_ns)

    def json(self, name: str, text: str) -> bool:
        writer = self.open()
        return writer is not None and writer.json(name, text)

    def describe(self, name: str, text: str) -> bool:
        """Says it once, however often it is given."""
        if self._described.get(name) == text:
            return True
        writer = self.open()
        if writer is None or not writer.describe(name, text):
            return False
        self._described[name] = text
        return True

    def open(self) -> TapeWriter | None:
        """The writer, made at the first record. None: it cannot be made, which was said."""
        if self._writer is None:
            name = f"{self.rank}-{os.getpid()}-{os.urandom(4).hex()}.tape"
            try:
                path = os.path.join(self._folder(), name)
                self._writer = TapeWriter(path)
            except OSError as error:
                note_once(f"Metrics cannot be written: {error}. Free some space, or check the folder's owner.")
                return None
            self.path, self.number = path, self._writer.number
        return self._writer

    def forget(self) -> None:
        """After a fork: the child opens a tape of its own, for names are numbered per tape."""
        self._writer = None
        self.path = None
        self._described = {}
        self.number = self._first_number

    def _first_number(self, name: str, value: float, step: int = NO_STEP) -> bool:
        writer = self.open()
        return writer is not None and writer.number(name, value, step)


class RunTape(Tape):
    """The tape of a run that this process writes to: in the service's spool when that is on this machine, else in a
    folder of ours that a thread sends from."""

    def __init__(self, runs: Callable[[], Runs], run_id: str, spool: Callable[[], str | None], rank: int = 0) -> None:
        super().__init__(self._choose, rank)
        self._runs = runs
        self._run_id = run_id
        self._spool = spool
        self.sender: TapeSender | None = None
        self.in_spool = False  # whether the service itself reads what we write

    def flush(self, timeout_s: float) -> bool:
        """Send what a thread of ours has to send. True when nothing is left."""
        return self.sender is None or self.sender.flush(timeout_s)

    def forget(self) -> None:
        super().forget()
        if self.sender is not None:
            self.sender.after_fork()

    def _choose(self) -> str:
        if self.sender is not None:
            return self.sender.folder
        spool = self._spool()
        if spool is not None and os.path.isdir(spool) and os.access(spool, os.W_OK):
            self.in_spool = True
            return spool
        import tempfile

        from trainyard.sdk.runs.tape_sender import TapeSender

        self.sender = TapeSender(self._runs(), self._run_id, tempfile.mkdtemp(prefix="trainyard-metrics-"))
        return self.sender.folder


class JobTape(RunTape):
    """The tape of a job's process. The node's agent ships it; who cannot wait for that sends the rest himself, into the
    same stream."""

    def __init__(self, runs: Callable[[], Runs], job: JobContext) -> None:
        super().__init__(runs, job.run_id, lambda: job.spool, job.rank)
        self._node = job.node

    def flush(self, timeout_s: float) -> bool:
        if self.sender is not None or self.path is None:
            return super().flush(timeout_s)
        from trainyard.sdk.runs.tape_sender import patiently, send_rest

        path, stream = self.path, f"node-{self._node}/{os.path.basename(self.path)}"

        def send(offset: int, cells: bytes) -> int:
            return self._runs().send_tape(self._run_id, stream, offset, cells)

        return patiently(lambda: send_rest(send, path, send(0, b"")), path, timeout_s, time.sleep)


def _after_fork() -> None:
    for tape in list(_all):
        tape.forget()


os.register_at_fork(after_in_child=_after_fork)
