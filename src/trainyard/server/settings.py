"""The service's settings, read once at its start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from trainyard.contract.errors import InvalidRequest

N = TypeVar("N", int, float)
D = TypeVar("D")

_OF_BUILDERS = ("TRAINYARD_BUILD_DEADLINE", "TRAINYARD_INDEX_TIMEOUT")  # refused here, read by them
LOOPBACK = ("127.0.0.1", "::1", "localhost")
DATABASE = "TRAINYARD_DATABASE"  # may have a password in it


@dataclass(frozen=True)
class Settings:
    home: str
    host: str = "127.0.0.1"
    port: int | None = None  # None: the port it had before, else a free one
    database_url: str = field(default="", repr=False)
    idle_stop_s: int | None = 1800  # None: a team's server stays
    advertised: str | None = None  # the address that nodes without this home reach it at
    allow_private_addresses: bool = True  # whether data may be fetched from private addresses
    environments_limit: int = 50 << 30  # bytes that built environments may take
    services_host: str = "127.0.0.1"  # where deployed services listen
    allow_pickle: bool = True  # models that are pickles may be served without code; a team's owner says so explicitly
    # what builders are started with: where programs, indexes and caches are
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False, compare=False)

    @staticmethod
    def from_env(variables: Mapping[str, str], home: str, host: str | None, port: int | None, stay: bool) -> Settings:
        """Flags win over TRAINYARD_HOST, TRAINYARD_PORT, TRAINYARD_DATABASE, TRAINYARD_IDLE_STOP and
        TRAINYARD_ADVERTISED. TRAINYARD_ENVIRONMENTS_GB says how much built environments may take,
        TRAINYARD_SERVICES_HOST where deployed services listen, TRAINYARD_ALLOW_PICKLE whether pickled models may be
        served without code (yes in an embedded home, no on a team's server), TRAINYARD_ALLOW_PRIVATE_ADDRESSES whether
        data may come from private addresses (the same)."""
        home = os.path.abspath(home)
        for name in _OF_BUILDERS:
            _number(variables, name, int, None)
        port = port if port is not None else _number(variables, "TRAINYARD_PORT", int, None)
        if port is not None and not 0 <= port <= 65535:
            raise InvalidRequest(f"The port is {port}; choose one from 1 to 65535, or none for a free one.")
        host = host or variables.get("TRAINYARD_HOST") or Settings.host
        private = _said_yes(variables.get("TRAINYARD_ALLOW_PRIVATE_ADDRESSES"), otherwise=host in LOOPBACK and not stay)
        return Settings(
            home=home,
            host=host,
            allow_private_addresses=private,
            port=port,
            database_url=variables.get(DATABASE) or f"sqlite:///{os.path.join(home, 'trainyard.db')}",
            environments_limit=int(_number(variables, "TRAINYARD_ENVIRONMENTS_GB", float, 50.0) * (1 << 30)),
            services_host=variables.get("TRAINYARD_SERVICES_HOST") or Settings.services_host,
            allow_pickle=_said_yes(variables.get("TRAINYARD_ALLOW_PICKLE"), otherwise=not stay),
            # builders and fronts run what users brought: the database is none of their business
            variables={name: value for name, value in variables.items() if name != DATABASE},
            idle_stop_s=None if stay else _number(variables, "TRAINYARD_IDLE_STOP", int, 1800),
            advertised=variables.get("TRAINYARD_ADVERTISED"),
        )

    @property
    def loopback(self) -> bool:
        return self.host in LOOPBACK

    def folder(self, name: str) -> str:
        return os.path.join(self.home, name)


def _number(variables: Mapping[str, str], name: str, kind: type[N], otherwise: D) -> N | D:
    text = variables.get(name)
    if not text:
        return otherwise
    try:
        return kind(text)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise InvalidRequest(f"{name} is {text!r} and must be {wanted}. Correct it, or unset it.") from error


def _said_yes(value: str | None, *, otherwise: bool) -> bool:
    return otherwise if not value else value.strip().lower() in ("1", "yes", "true", "on")
