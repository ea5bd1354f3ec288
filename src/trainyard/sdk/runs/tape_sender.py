"""Sends the tapes of an interactive run from a machine that the service does not share a folder with."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
import time
from collections.abc import Callable

from trainyard.client.runs import Runs
from trainyard.contract.tape import whole_cells
from trainyard.sdk.effects import note_once
from trainyard.sdk.errors import AzureMLException

_PAUSE_S = 0.5
_AT_EXIT_S = 30.0
_MOST = 1 << 20  # bytes of one request


class TapeSender:
    """Every tape in `folder`, those of forked children too. Offsets make a second send of the same cells harmless."""

    def __init__(self, runs: Runs, run_id: str, folder: str) -> None:
        self.folder = folder
        self._runs = runs
        self._run_id = run_id
        self._sent: dict[str, int] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._owner = os.getpid()
        threading.Thread(target=self._work, name="trainyard-metrics", daemon=True).start()
        atexit.register(self._at_exit)

    def flush(self, timeout_s: float) -> bool:
        """True when all that was written is with the service."""
        return patiently(self._send_all, self.folder, timeout_s, self._stop.wait)

    def after_fork(self) -> None:
        """The child has no thread of ours; its tapes are sent by the parent, or by its own flush."""
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def _work(self) -> None:
        while not self._stop.wait(_PAUSE_S):
            try:
                self._send_all()
            except (AzureMLException, OSError):
                continue  # the service is away; the tapes stay until it is back

    def _send_all(self) -> None:
        with self._lock:
            for name in sorted(os.listdir(self.folder)):
                self._send(name)

    def _send(self, name: str) -> None:
        def send(offset: int, cells: bytes) -> int:
            self._sent[name] = self._runs.send_tape(self._run_id, name, offset, cells)
            return self._sent[name]

        send_rest(send, os.path.join(self.folder, name), self._sent.get(name, 0))

    def _at_exit(self) -> None:
        if os.getpid() != self._owner:
            return
        self._stop.set()
        if self.flush(_AT_EXIT_S):
            shutil.rmtree(self.folder, ignore_errors=True)


def send_rest(send: Callable[[int, bytes], int], path: str, sent: int) -> None:
    """`send` what a tape holds behind its first `sent` bytes; it answers how many of them the service has."""
    with open(path, "rb") as tape:
        while True:
            tape.seek(sent)
            cells = tape.read(_MOST)
            if len(cells) == _MOST and whole_cells(cells) == 0:
                cells += tape.read(2 * _MOST)  # one record longer than a request: the longest has 2 MB
            if (ready := whole_cells(cells)) == 0:
                return
            sent = send(sent, cells[:ready])


def patiently(send: Callable[[], object], what: str, timeout_s: float, pause: Callable[[float], object]) -> bool:
    """True when `send` went well, which is tried again until the time is over."""
    ends = time.monotonic() + timeout_s
    while True:
        try:
            send()
            return True
        except (AzureMLException, OSError) as error:
            if time.monotonic() >= ends:
                note_once(f"Metrics in {what} could not be sent yet: {error}")
                return False
        pause(_PAUSE_S)
