"""Credentials in the addresses of an environment: sealed from the moment they arrive, so that rows, answers and whoever
reads them have only the seal. They are opened for a builder, and only for the place that they were given for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trainyard.contract.errors import EnvironmentRefused
from trainyard.contract.runs import EnvironmentSpec, RunSpec
from trainyard.environments.credentials import changed
from trainyard.server.secrets import Secrets

_SEAL = "sealed:"
_NOT_SECRET = frozenset({"git"})  # whom everybody is to a server of sources


def sealed(definition: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """An environment's definition as it may be stored. What is sealed already stays as it is."""

    def seal(place: str, secret: str) -> str:
        if secret.startswith(_SEAL) or secret in _NOT_SECRET:
            return secret
        return _SEAL + secrets.encrypt(f"{place}\n{secret}").rstrip("=")

    return _with_texts(definition, lambda text: changed(text, seal))


def opened(definition: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """As it was given. Not to be stored or shown."""

    def open_one(place: str, secret: str) -> str:
        if not secret.startswith(_SEAL):
            return secret
        token = secret.removeprefix(_SEAL)
        given_for, _, found = secrets.decrypt(token + "=" * (-len(token) % 4)).partition("\n")
        if given_for != place:  # a seal that was copied must not send the secret to somebody else's machine
            raise EnvironmentRefused(
                f"The credentials of {place} were sealed for {given_for}. Write those of {place} into its address."
            )
        return found

    return _with_texts(definition, lambda text: changed(text, open_one))


def sealed_spec(spec: RunSpec, secrets: Secrets) -> RunSpec:
    """The environment is in it twice: for builders, and as the SDK shows the run."""
    definition = spec.definition
    if isinstance(shown := definition.get("environment"), dict):
        definition = {**definition, "environment": sealed(shown, secrets)}
    return replace(spec, environment=sealed_environment(spec.environment, secrets), definition=definition)


def sealed_environment(spec: EnvironmentSpec, secrets: Secrets) -> EnvironmentSpec:
    return replace(spec, definition=sealed(spec.definition, secrets))


def opened_environment(spec: EnvironmentSpec, secrets: Secrets) -> EnvironmentSpec:
    return replace(spec, definition=opened(spec.definition, secrets))


def _with_texts(said: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return _with_texts(value, change)
        return [walk(item) for item in value] if isinstance(value, list) else value

    return {key: walk(value) for key, value in said.items()}
