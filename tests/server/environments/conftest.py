"""An index that takes every connection and never says a word."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest


@pytest.fixture
def silent() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/simple"
        listener.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()
