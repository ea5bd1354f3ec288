"""Bodies of requests: read up to the limit, and only as many at a time as memory is meant for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

_SILENCE_S = 30.0  # a client that sends nothing for this long has lost its turn
_AT_ONCE = 512 << 20  # bytes of all bodies together; one body of the limit always fits


_LINGER_S = 10.0
_LINGER_BYTES = 1 << 30


class BodyRefused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Bodies:
    def __init__(self, limit: int, held: Bodies | None = None) -> None:
        """`held`: those before a change of the limit, some of which may still be in work."""
        self.limit = limit
        self.most = max(_AT_ONCE, 2 * limit)
        self._held: list[int] = held._held if held else [0]

    def room(self) -> Room:
        return Room(self)

    def take(self, size: int) -> None:
        if self._held[0] + size > self.most:
            raise BodyRefused(503, "The requests in work are too large for one more. Try again in a moment.")
        self._held[0] += size

    def give_back(self, size: int) -> None:
        self._held[0] -= size


class Room:
    """The memory of one request, given back when it is answered."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._size = 0

    def __enter__(self) -> Room:
        return self

    def __exit__(self, *_: object) -> None:
        self._bodies.give_back(self._size)

    async def read(self, declared: bytes, receive: Receive) -> bytes:
        """`declared`: the Content-Length header."""
        if declared:
            self._grow(int(declared), int(declared))
            if getattr(getattr(receive, "__self__", None), "more_body", True) is False:
                return bytes((await receive())["body"])  # uvicorn has it all: no need to watch the clock
        try:
            async with asyncio.timeout(_SILENCE_S) as patience:
                return await self._whole(receive, patience, counted=bool(declared))
        except TimeoutError as error:
            raise BodyRefused(408, f"The body did not arrive: nothing came for {_SILENCE_S:g} seconds.") from error

    async def _whole(self, receive: Receive, patience: asyncio.Timeout, *, counted: bool) -> bytes:
        parts: list[bytes] = []
        total = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BodyRefused(400, "The client has gone.")
            part = message.get("body", b"")
            total += len(part)
            if not counted:
                self._grow(len(part), total)
            parts.append(part)
            if not message.get("more_body"):
                return part if len(parts) == 1 else b"".join(parts)
            patience.reschedule(asyncio.get_running_loop().time() + _SILENCE_S)

    def _grow(self, size: int, total: int) -> None:
        limit = self._bodies.limit
        if total > limit:
            raise BodyRefused(413, f"The body is larger than the {limit} bytes that this service accepts.")
        self._bodies.take(size)
        self._size += size


async def linger(headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> None:
    """After a refusal, before its connection is closed: what the client still sends is read and forgotten, for a while.
    Closed at once, the connection would break under one that reads only when it has sent everything, and it would never
    see why. One that asks before it sends (`Expect`) sends nothing now."""
    said = dict(headers)
    if b"expect" in said or (said.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in said):
        return
    left = _LINGER_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return
