"""Wakes readers: threads say that something about a run changed, coroutines wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, defaultdict


class Hub:
    """Each run has a version that only counts up. A reader takes the version, looks, and waits for the next one: what
    happens between its look and its wait is not missed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: Counter[int] = Counter()
        self._waiting: defaultdict[int, set[asyncio.Future[None]]] = defaultdict(set)
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def version(self, run_key: int) -> int:
        return self._versions[run_key]

    def notify(self, run_key: int) -> None:
        """From any thread."""
        with self._lock:
            self._versions[run_key] += 1
            waiting = bool(self._waiting.get(run_key))
        if waiting and self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake, run_key)

    async def changed(self, run_key: int, seen: int, timeout_s: float) -> None:
        """Returns when the run's version is no longer `seen`, or after the timeout."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._versions[run_key] != seen:
                return
            self._waiting[run_key].add(future)
        try:
            await asyncio.wait_for(future, timeout_s)
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiting[run_key].discard(future)
                if not self._waiting[run_key]:
                    del self._waiting[run_key]

    def _wake(self, run_key: int) -> None:
        with self._lock:
            waiting = list(self._waiting.get(run_key, ()))
        for future in waiting:
            if not future.done():
                future.set_result(None)
