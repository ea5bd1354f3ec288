"""A log as it grows. A follower is a coroutine that sleeps in the hub: it holds no thread while nothing is written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.concurrency import run_in_threadpool

from trainyard.server.hub import Hub
from trainyard.server.logs.service import Log, LogStore

BLOCK = 1 << 18
_QUICK = 1 << 16  # what was just written is in memory: reading it takes less time than handing it to a thread
_LOOK_AGAIN_S = 15.0  # should a wake-up ever be missed


async def follow(
    store: LogStore, hub: Hub, run_key: int, name: str, offset: int, is_over: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """The bytes from `offset` on as they come, until the run is over and everything was sent. A log that is not there
    yet is waited for."""
    log: Log | None = None
    while True:
        seen = hub.version(run_key)
        log = log or await run_in_threadpool(store.find, run_key, name)
        data = await _read(log, offset)
        if not data:
            over = await is_over()
            # Read after the look at the run: what was written before its end is not missed.
            log = log or await run_in_threadpool(store.find, run_key, name)
            data = await _read(log, offset)
            if not data and over:
                return
        if data:
            offset += len(data)
            yield data
        else:
            await hub.changed(run_key, seen, _LOOK_AGAIN_S)


async def upto(log: Log, offset: int, end: int) -> AsyncIterator[bytes]:
    """The bytes from `offset` to `end`."""
    while offset < end and (data := await _read(log, offset, end - offset)):
        offset += len(data)
        yield data


async def _read(log: Log | None, offset: int, most: int = BLOCK) -> bytes:
    if log is None:
        return b""
    waiting = min(most, log.size() - offset)
    if waiting <= _QUICK:
        return log.read(offset, waiting)
    return await run_in_threadpool(log.read, offset, min(waiting, BLOCK))
