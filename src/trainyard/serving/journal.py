"""service.log: what the front says, one line for each request, and between them what the scoring processes print."""

from __future__ import annotations

import contextlib
import os
import time


class Journal:
    """Each line is one write at the end of the file, so lines of several processes never mix and none is lost."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._second = 0
        self._stamp = ""

    def note(self, sentence: str) -> None:
        self._write(f"{self._now()} {sentence}\n")

    def request(self, method: str, target: str, status: int, ms: float, size: int, version: str, number: str) -> None:
        self._write(f"{self._now()} {method} {target} {status} {ms:.3f}ms {size} {version} {number}\n")

    def _now(self) -> str:
        now = time.time()
        second = int(now)
        if second != self._second:
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{int((now - second) * 1000):03d}Z"

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError):  # a full disk: scoring goes on without its log
            os.write(self.descriptor, line.encode("utf-8", "replace"))
