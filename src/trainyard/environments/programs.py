"""Programs that a builder starts: none outlives it, and what they say is heard as it comes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

_LIBC = ctypes.CDLL(None)


def _end_with_us() -> None:
    """A builder that is killed must not leave a program behind that goes on writing."""
    _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


@contextlib.contextmanager
def started(argv: list[str], variables: Mapping[str, str], folder: str = "/") -> Iterator[subprocess.Popen[str]]:
    """Ended with the block, and all that it started with it."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(variables),
        cwd=folder,
        text=True,
        errors="replace",
        process_group=0,
        preexec_fn=_end_with_us if sys.platform == "linux" else None,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def read_both(process: subprocess.Popen[str], until: float, hear: Callable[[str], None]) -> str:
    """Its output; each line of its messages to `hear` as it comes. TimeoutError when it is not done by `until`."""
    assert process.stdout is not None
    assert process.stderr is not None
    parts: list[bytes] = []
    waiting = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(None if until == float("inf") else max(0.0, until - time.monotonic()))
            if not ready or time.monotonic() > until:
                raise TimeoutError
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    parts.append(data)
                else:
                    *lines, waiting = (waiting + data).split(b"\n")
                    for line in lines:
                        hear(line.decode("utf-8", "replace").rstrip())
    if waiting:
        hear(waiting.decode("utf-8", "replace").rstrip())
    return b"".join(parts).decode("utf-8", "replace")
