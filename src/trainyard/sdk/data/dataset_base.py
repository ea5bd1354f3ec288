"""What file and tabular datasets share: a definition that is read lazily, and where it is registered."""

from __future__ import annotations

import copy
import datetime
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from trainyard.contract.data import DataMode, DatasetChange, DatasetDefinition, DatasetRecord, NewDataset
from trainyard.contract.names import check_name
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import UserErrorException, sdk_errors

if TYPE_CHECKING:
    from trainyard.blobs.depots.resolve import Entry
    from trainyard.sdk.data.dataset_consumption import DatasetConsumptionConfig
    from trainyard.sdk.workspace import Workspace


class AbstractDataset:
    """Made by Dataset.File and Dataset.Tabular, or found by name. Each change makes another one."""

    _kind = ""

    def __init__(
        self, definition: DatasetDefinition, workspace: Workspace | None = None, record: DatasetRecord | None = None
    ) -> None:
        self._definition = definition
        self._workspace = workspace
        self._record = record

    @staticmethod
    def get_by_name(workspace: Workspace, name: str, version: Any = "latest", **kwargs: Any) -> Any:
        no_effect("Dataset.get_by_name", **kwargs)
        number = None if version in (None, "latest") else _number(version)
        return dataset_of(workspace, workspace._clients.data.by_name(str(name), number))

    @staticmethod
    def get_by_id(workspace: Workspace, id: str, **kwargs: Any) -> Any:
        no_effect("Dataset.get_by_id", **kwargs)
        return dataset_of(workspace, workspace._clients.data.by_id(str(id)))

    @staticmethod
    def get_all(workspace: Workspace) -> dict[str, Any]:
        """The latest version of each, by name."""
        return {str(it.name): dataset_of(workspace, it) for it in workspace._clients.data.datasets()}

    # What it is

    @property
    def id(self) -> str | None:
        """None until it is registered or was given to a run."""
        return self._record.dataset_id if self._record else None

    @property
    def name(self) -> str | None:
        return self._record.name if self._record else None

    @property
    def version(self) -> int | None:
        return self._record.version if self._record else None

    @property
    def description(self) -> str | None:
        return self._record.description if self._record else None

    @property
    def tags(self) -> dict[str, str]:
        return dict(self._record.tags) if self._record else {}

    @property
    def data_changed_time(self) -> datetime.datetime | None:
        """When the newest of its files was changed; None where no store says."""
        newest = max((entry.file.changed_ns for entry in self._entries()), default=0)
        return datetime.datetime.fromtimestamp(newest / 1e9, datetime.UTC) if newest else None

    @property
    def partition_keys(self) -> list[str]:
        from trainyard.sdk.data.partitions import keys_of

        return keys_of(self._definition.traits.get("partition_format"))

    def get_partition_key_values(self, partition_keys: list[str] | None = None) -> list[dict[str, Any]]:
        """Every combination of the keys' values that the files' paths have."""
        from trainyard.sdk.data.partitions import values_of

        keys = partition_keys or self.partition_keys
        if not self.partition_keys:
            raise UserErrorException(
                "This dataset has no partition keys. Make it with a partition_format, or by partition_by()."
            )
        if not set(keys) <= set(self.partition_keys):
            raise UserErrorException(f"The partition keys of this dataset are {self.partition_keys}, not {keys}.")
        found = [values_of(self._definition.traits["partition_format"], entry.file.path) for entry in self._entries()]
        seen = {tuple(values[key] for key in keys): None for values in found}
        return [dict(zip(keys, values, strict=True)) for values in seen]

    # Registration

    def register(
        self,
        workspace: Workspace,
        name: str,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        create_new_version: bool = False,
    ) -> Self:
        """Gives it a name in the workspace; a taken one only with `create_new_version`. Returns the registered one."""
        if workspace is None:
            raise UserErrorException("A dataset is registered in a workspace: register(workspace=ws, name=...).")
        with sdk_errors():
            check_name("a dataset", name)
        self._check_can_travel(workspace)
        new = NewDataset(self._definition, name, description, _texts(tags), create_new_version)
        return type(self)(self._definition, workspace, workspace._clients.data.save(new))

    def add_tags(self, tags: dict[str, str] | None = None) -> Self:
        return self._change(DatasetChange(tags={**self.tags, **(_texts(tags) or {})}))

    def remove_tags(self, tags: list[str] | None = None) -> Self:
        gone = set(tags or ())
        return self._change(DatasetChange(tags={key: value for key, value in self.tags.items() if key not in gone}))

    def update(self, description: str | None = None, tags: dict[str, str] | None = None) -> Self:
        return self._change(DatasetChange(description, _texts(tags)))

    def unregister_all_versions(self) -> None:
        """Takes the name from all versions. Runs that used them keep saying so."""
        if self.name is None or self._workspace is None:
            raise UserErrorException("This dataset is not registered, so there is nothing to unregister.")
        self._workspace._clients.data.unregister(self.name)

    # In runs

    def as_named_input(self, name: str) -> DatasetConsumptionConfig:
        from trainyard.sdk.data.dataset_consumption import DatasetConsumptionConfig

        return DatasetConsumptionConfig(name, self)

    # For its own parts

    def _as_input(self, mode: DataMode, path_on_compute: str | None) -> DatasetConsumptionConfig:
        from trainyard.sdk.data.dataset_consumption import DatasetConsumptionConfig

        name = f"input_{os.urandom(4).hex()}"
        return DatasetConsumptionConfig(name, self, mode.value, path_on_compute)

    def _step(self, **step: Any) -> Self:
        return self._other(replace(self._definition, steps=(*self._definition.steps, step)))

    def _other(self, definition: DatasetDefinition) -> Self:
        """The same with another definition: it is not the one that is registered any more."""
        made = copy.copy(self)
        made._definition, made._record = definition, None
        return made

    def _entries(self, *, missing_ok: bool = False) -> list[Entry]:
        from trainyard.sdk.data.data_here import entries_of

        return entries_of(self._definition, self._workspace, missing_ok=missing_ok)

    def _change(self, change: DatasetChange) -> Self:
        if self._record is None or self._workspace is None:
            raise UserErrorException("This dataset is not registered. Register it before its tags or description.")
        self._record = self._workspace._clients.data.change(self._record.dataset_id, change)
        return type(self)(self._definition, self._workspace, self._record)

    def _check_can_travel(self, workspace: Workspace) -> None:
        from trainyard.sdk.runs.run_data import check_can_travel

        check_can_travel(workspace, [self._definition])

    def __repr__(self) -> str:
        import json

        from trainyard.contract.codec import to_json

        said: dict[str, Any] = {"source": [_shown(it) for it in self._definition.sources]}
        said["definition"] = [step["op"] for step in self._definition.steps]
        if self._record is not None and self._record.name is not None:
            it = self._record
            said["registration"] = {
                "id": it.dataset_id,
                "name": it.name,
                "version": it.version,
                "description": it.description,
                "tags": to_json(it.tags),
                "workspace": repr(self._workspace),
            }
        return f"{type(self).__name__}\n{json.dumps(said, indent=2)}"


def dataset_of(workspace: Workspace, record: DatasetRecord) -> Any:
    from trainyard.sdk.data.file_dataset import FileDataset
    from trainyard.sdk.data.tabular_dataset import TabularDataset

    kind = TabularDataset if record.definition.kind == "tabular" else FileDataset
    return kind(record.definition, workspace, record)


def checked_count(count: Any, what: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise UserErrorException(f"{what} is a whole number from 0 on, not {count!r}.")
    return count


def checked_share(share: Any, what: str) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise UserErrorException(f"{what} is a number from 0 to 1, not {share!r}.")
    return float(share)


def seed_or_new(seed: int | None) -> int:
    """A sample without a seed is drawn once, and is the same whenever it is looked at."""
    return int.from_bytes(os.urandom(4), "big") if seed is None else int(seed)


def _texts(tags: Any) -> dict[str, str] | None:
    if tags is None:
        return None
    if not isinstance(tags, dict):
        raise UserErrorException(f"tags are a dict such as {{'year': '2020'}}, not {tags!r}.")
    return {str(key): str(value) for key, value in tags.items()}


def _number(version: Any) -> int:
    try:
        return int(version)
    except (TypeError, ValueError):
        raise UserErrorException(f"version is {version!r}; give a number or 'latest'.") from None


def _shown(source: Any) -> str:
    return f"('{source.datastore}', '{source.path}')" if source.datastore else source.path
