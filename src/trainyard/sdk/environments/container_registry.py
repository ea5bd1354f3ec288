"""Where a base image would be pulled from."""

from __future__ import annotations

from typing import Any


class ContainerRegistry:
    def __init__(self) -> None:
        self.address: str | None = None
        self.username: str | None = None
        self.password: str | None = None
        self.registry_identity: Any = None
