"""Records to JSON and back. Unknown keys are dropped and missing ones take their defaults, so that a peer one version
older or newer is understood."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Plain dicts, lists and scalars for a record (or a list or dict of them)."""
    kind: Any = type(value)  # a class is hashable, which mypy does not see
    if kind in _PLAIN:
        return value
    if (names := _field_names(kind)) is not None:
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset):
        return [to_json(item) for item in value]
    return value


_PLAIN = frozenset({str, int, float, bool, type(None)})


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    """None: not a record."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def from_json(kind: type[T], value: Any) -> T:
    """A record of type `kind` from what `to_json` made."""
    read: Callable[[Any], T] = _reader(typing.cast("Any", kind))
    return read(value)


@functools.cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _record_reader(kind)
    if origin in (typing.Union, types.UnionType):
        inner = _reader(next(arg for arg in args if arg is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin in (tuple, list):
        item = _reader(args[0])
        return lambda value: origin(item(part) for part in value)
    if origin is dict:
        item = _reader(args[1])
        return lambda value: {key: item(part) for key, part in value.items()}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind
    return lambda value: value


def _record_reader(kind: Any) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in dataclasses.fields(kind)}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"{kind.__name__} is written as an object, not as {type(value).__name__}")
        return kind(**{name: reader(value[name]) for name, reader in readers.items() if name in value})

    return read
