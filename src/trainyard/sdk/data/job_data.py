"""A job's inputs and outputs, as its variables say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import REFERENCE_VARIABLE
from trainyard.sdk.errors import UserErrorException

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


class _Named(Mapping[str, Any]):
    """Read-only; a name that is not there says which are. A dataset is got when it is asked for."""

    def __init__(self, values: dict[str, Any], what: str) -> None:
        self._values = values
        self._what = what

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            have = ", ".join(sorted(self._values)) or "none"
            raise UserErrorException(f"This run has no {self._what} named {name!r} (it has: {have}).")
        value = self._values[name]
        return value() if callable(value) else value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._values else default

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        """Without getting any dataset."""
        return repr({name: "a dataset" if callable(it) else it for name, it in self._values.items()})


def inputs(workspace: Workspace) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for said in filter(None, os.environ.get("AZUREML_DATASET_ENVIRONMENT_VARS", "").split(",")):
        name, _, mode = said.partition(":")
        value = os.environ[REFERENCE_VARIABLE + name]
        found[name] = _getter(workspace, value) if mode.lower() == "direct" else value
    return _Named(found, "input dataset")


def outputs() -> Mapping[str, Any]:
    names = filter(None, os.environ.get("AZUREML_DATASET_FILE_OUTPUTS", "").split(";"))
    return _Named({name: os.environ[REFERENCE_VARIABLE + name] for name in names}, "output dataset")


def _getter(workspace: Workspace, dataset_id: str) -> Any:
    from trainyard.sdk.data.dataset_base import AbstractDataset

    return lambda: AbstractDataset.get_by_id(workspace, dataset_id)
