"""Filters and references that models, images and services share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trainyard.sdk.errors import UserErrorException, WebserviceException

if TYPE_CHECKING:
    from trainyard.sdk.data.dataset_base import AbstractDataset
    from trainyard.sdk.workspace import Workspace

Labels = tuple[tuple[str | None, ...], ...]


def wanted_labels(given: Any) -> Labels:
    """A filter as the SDK takes it: a list of keys and [key, value] pairs; a key or a dict does, too."""
    if not given:
        return ()
    if isinstance(given, dict):
        return tuple((str(key), _text(value)) for key, value in given.items())
    if isinstance(given, str):
        return ((given,),)
    return tuple(_wanted(entry) for entry in given)


def dataset_id(workspace: Workspace, given: Any, what: str) -> str | None:
    """Of a dataset object, or an id as it is. One that has no name yet is saved without one."""
    if given is None or isinstance(given, str):
        return given
    found = getattr(given, "id", None)
    return str(found) if found is not None else _saved(workspace, given, what)


def dataset_of_id(workspace: Workspace, known: str | None) -> AbstractDataset | None:
    from trainyard.sdk.data.dataset import Dataset

    return Dataset.get_by_id(workspace, known) if known is not None else None


def dataset_pairs(workspace: Workspace, given: Any) -> tuple[tuple[str, ...], ...]:
    """(what it is for, the dataset) pairs, as ids."""
    if not given:
        return ()
    if not isinstance(given, Iterable):
        raise WebserviceException("datasets must be a list of (purpose, dataset) pairs.")
    pairs = []
    for pair in given:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise WebserviceException(f"datasets must be a list of (purpose, dataset) pairs, and {pair!r} is none.")
        pairs.append((str(pair[0]), str(dataset_id(workspace, pair[1], "datasets"))))
    return tuple(pairs)


def _wanted(entry: Any) -> tuple[str | None, ...]:
    if isinstance(entry, str):
        return (entry,)
    if isinstance(entry, list | tuple) and 1 <= len(entry) <= 2:
        return tuple(_text(part) for part in entry)
    raise UserErrorException(f"{entry!r} is no filter: give a key, or a [key, value] pair.")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _saved(workspace: Workspace, given: Any, what: str) -> str:
    from trainyard.contract.data import NewDataset
    from trainyard.sdk.data.dataset_base import AbstractDataset

    if not isinstance(given, AbstractDataset):
        raise WebserviceException(f"{what} is a {type(given).__name__}; it must be a dataset, or the id of one.")
    given._check_can_travel(workspace)
    return workspace._clients.data.save(NewDataset(given._definition)).dataset_id
