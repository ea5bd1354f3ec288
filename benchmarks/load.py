"""A load generator: so many connections, each asking again as soon as it has its answer."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import cast

import uvloop


@dataclass(frozen=True)
class Load:
    seconds: list[float]  # of each request
    spent: float
    failed: int

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.spent


def post(path: str, body: bytes) -> bytes:
    head = ["Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([f"POST {path} HTTP/1.1", *head, "", ""]).encode() + body


def drive(port: int, request: bytes, connections: int, seconds: float) -> Load:
    return uvloop.run(_drive(port, request, connections, seconds))


async def _drive(port: int, request: bytes, connections: int, seconds: float) -> Load:
    loop = asyncio.get_running_loop()
    clients: list[_Client] = []
    began = time.perf_counter()
    until = began + seconds
    for _ in range(connections):
        _, client = await loop.create_connection(lambda: _Client(request, until), "127.0.0.1", port)
        clients.append(client)
    async with asyncio.timeout(seconds + 60):
        await asyncio.gather(*(client.over for client in clients))
    spent = time.perf_counter() - began
    return Load(
        [each for client in clients for each in client.seconds], spent, sum(client.failed for client in clients)
    )


class _Client(asyncio.Protocol):
    def __init__(self, request: bytes, until: float) -> None:
        self._request = request
        self._until = until
        self._asked = 0.0
        self._held = b""
        self.seconds: list[float] = []
        self.failed = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        self._held = b""
        self._asked = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, found, body = self._held.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        now = time.perf_counter()
        self.seconds.append(now - self._asked)
        self.failed += not head.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200"))
        if now < self._until:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if not self.over.done():
            self.over.set_result(None)


def _length(head: bytes) -> int:
    at = head.lower().find(b"content-length:")
    return int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
