"""A workspace's secrets as they travel: names with values when they are set or asked for, names alone when listed."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainyard.contract.errors import NotFound


class UnknownSecret(NotFound):
    code = "secret.unknown"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no secret {name!r} in this workspace. list_secrets() says which there are.")


@dataclass(frozen=True)
class SecretValues:
    values: dict[str, str | None] = field(default_factory=dict, repr=False)  # None: there is none of that name


@dataclass(frozen=True)
class SecretNames:
    names: tuple[str, ...] = ()
