"""Tags and properties as the service keeps them: text to text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trainyard.contract.runs import RunQuery
from trainyard.contract.states import RunState
from trainyard.sdk.errors import UserErrorException


def as_tags(tags: Mapping[Any, Any] | None) -> dict[str, str | None]:
    """Other values become text; None stays."""
    return {str(key): None if value is None else str(value) for key, value in _mapping(tags, "tags").items()}


def as_properties(properties: Mapping[Any, Any] | None) -> dict[str, str]:
    return {str(key): str(value) for key, value in _mapping(properties, "properties").items()}


def as_names(names: Any) -> tuple[str, ...]:
    """One name, or several."""
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def run_query(type: Any = None, tags: Any = None, properties: Any = None, status: Any = None, **more: Any) -> RunQuery:
    """The filters that get_runs, get_children and their like share. A tag is a name, or {name: value}."""
    return RunQuery(
        types=() if type is None else as_names(type),
        tags=_wanted(tags),
        properties=_wanted(properties),
        states=() if status is None else tuple(map(_state, as_names(status))),
        **more,
    )


def _wanted(labels: Any) -> dict[str, str | None]:
    if labels is None:
        return {}
    if isinstance(labels, Mapping):
        return as_tags(labels)
    return dict.fromkeys(as_names(labels)) if isinstance(labels, str | Iterable) else {str(labels): None}


def _state(name: str) -> RunState:
    try:
        return RunState(name)
    except ValueError as error:
        raise UserErrorException(f"{name!r} is no run status. Use one of {', '.join(RunState)}.", error) from error


def _mapping(given: Any, what: str) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UserErrorException(f"{what} must be a dict such as {{'key': 'value'}}, not {type(given).__name__}.")
    return given
