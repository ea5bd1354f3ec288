"""When the service was last used, and when each attempt was last heard. In memory: a restart starts the count anew."""

from __future__ import annotations

import time


class Activity:
    def __init__(self) -> None:
        self._last = time.monotonic()

    def touch(self) -> None:
        self._last = time.monotonic()

    def idle_s(self) -> float:
        return time.monotonic() - self._last


class Pulse:
    """Heartbeats. They are too many for rows, and after a restart the agents are heard again within seconds. And what
    agents say of the start of ranks, until it is in the run's history."""

    def __init__(self) -> None:
        self._born = time.monotonic()
        self._heard: dict[str, float] = {}
        self._starts: dict[str, dict[int, dict[int, int]]] = {}  # attempt → node → rank → when
        self._noted: set[str] = set()

    def beat(self, attempt_id: str) -> None:
        self._heard[attempt_id] = time.monotonic()

    def silent_s(self, attempt_id: str) -> float:
        return time.monotonic() - self._heard.get(attempt_id, self._born)

    def started(
        self, attempt_id: str, node: int, ranks: dict[int, int], nodes: int
    ) -> dict[int, dict[int, int]] | None:
        """Node → rank → when, once all `nodes` have said it; None before, and after it was noted."""
        if attempt_id in self._noted:
            return None
        known = self._starts.setdefault(attempt_id, {})
        known.setdefault(node, ranks)
        return known if len(known) == nodes else None

    def noted(self, attempt_id: str) -> None:
        """It is in the history, for good: a report that could not be committed comes again, and is to be noted then."""
        if self._starts.pop(attempt_id, None) is not None:
            self._noted.add(attempt_id)

    def forget(self, attempt_id: str) -> None:
        self._heard.pop(attempt_id, None)
        self._starts.pop(attempt_id, None)
        self._noted.discard(attempt_id)
