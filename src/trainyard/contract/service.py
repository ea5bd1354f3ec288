"""What a service says of itself, and which clients it understands."""

from __future__ import annotations

import re
from dataclasses import dataclass

API = "/api/v1"


@dataclass(frozen=True)
class ServiceStatus:
    version: str
    pid: int
    home: str
    database: str
    started_ns: int
    active_runs: int
    workspaces: int
    idle_stop_s: int | None
    services: int = 0  # deployed ones: they go on when this one stops


def understands(service: str, client: str) -> bool:
    """A service understands clients of its own minor version and of the one before it."""
    ours, theirs = _minor(service), _minor(client)
    return ours[0] == theirs[0] and 0 <= ours[1] - theirs[1] <= 1


def _minor(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (-1, -1)
