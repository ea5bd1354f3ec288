"""How far a transfer is, for people: a bar that moves where there is a terminal, else a line at its start and end."""

from __future__ import annotations

import sys
import threading
import time

_EVERY_S = 0.1
_WIDTH = 30


class Progress:
    """Told from any thread. `what` is a verb in two forms, such as ("Uploading", "Uploaded")."""

    def __init__(self, what: tuple[str, str], files: int, size: int, *, show: bool) -> None:
        self._what, self._files, self._size, self._show = what, files, size, show
        self._done_files = self._done_bytes = 0
        self._lock = threading.Lock()
        self._shown = 0.0
        self._began = time.monotonic()
        if show:
            print(f"{what[0]} {_count(files)} ({human(size)})", flush=True)

    def __call__(self, files: int, size: int) -> None:
        with self._lock:
            self._done_files += files
            self._done_bytes += size
            now = time.monotonic()
            if self._show and sys.stdout.isatty() and now - self._shown > _EVERY_S:
                self._shown = now
                part = self._done_bytes / self._size if self._size else self._done_files / max(1, self._files)
                bar = "#" * int(_WIDTH * min(1.0, part))
                print(f"\r[{bar:<{_WIDTH}}] {self._done_files}/{self._files}", end="", flush=True)

    def done(self, skipped: int = 0) -> None:
        if not self._show:
            return
        if self._shown:
            print("\r" + " " * (_WIDTH + 30), end="\r")
        seconds = time.monotonic() - self._began
        print(f"{self._what[1]} {_count(self._done_files)} in {seconds:.1f} s", flush=True)
        if skipped:
            print(f"{_count(skipped)} were there already and were left as they are (overwrite=False)", flush=True)


def human(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"


def _count(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"
