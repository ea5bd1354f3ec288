"""What an agent ships: files that only grow, read from where the service's copy ends. The files are the spool."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from trainyard.contract import tape
from trainyard.contract.frames import Frame

_MOST_AT_ONCE = 2 << 20  # of one stream in one report, so that no stream starves the others


@dataclass
class Tail:
    """One stream. `sent` is how much of it the service has."""

    kind: str  # log, metrics or system
    stream: str
    path: str
    urgent: bool = True  # else it travels with the next report and causes none
    sent: int = 0
    stuck_at: int = -1  # size at which a tape ended inside a record: not worth reading again before it grows

    @property
    def is_tape(self) -> bool:
        """Whether it is made of records, which travel whole."""
        return self.kind != "log"

    def grown(self) -> bool:
        size = self._size()
        return size > self.sent and size != self.stuck_at

    def read(self, most: int) -> Frame | None:
        """The next bytes to ship, of a tape whole records only."""
        size = self._size()
        if size <= self.sent:
            return None
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.sent)
            data = file.read(min(most, _MOST_AT_ONCE))
        if self.is_tape:
            whole = tape.whole_cells(data)
            self.stuck_at = size if whole == 0 else -1
            data = data[:whole]
        return Frame(self.kind, {"stream": self.stream, "offset": self.sent}, data) if data else None

    def _size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0


class OwnLog:
    """One of the agent's own logs: a short file of what it did, shipped like any other stream."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def open(self) -> None:
        """Make the file, with nothing in it."""
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __call__(self, line: str) -> None:
        # a full disk takes nothing more, and must not keep the agent from saying so to the service
        with contextlib.suppress(OSError):
            if self._fd < 0:
                self.open()
            os.write(self._fd, line.encode("utf-8", "replace") + b"\n")


def note(text: str) -> None:
    """Into the agent's log on this node. A full disk takes nothing more, and must not end the agent for that."""
    with contextlib.suppress(OSError):
        os.write(2, text.encode("utf-8", "replace") + b"\n")


def last_lines(path: str, lines: int = 20, longest: int = 1000) -> tuple[str, ...]:
    """The end of a log, readable whatever bytes are in it. A progress bar is the line it ended as."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 16_384))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ()
    drawn = (line.rstrip("\r").rpartition("\r")[2] for line in text.removesuffix("\n").split("\n")[-lines:])
    return tuple(line[-longest:] for line in drawn) if text else ()
