"""Which service and which workspace a command means."""

from __future__ import annotations

import os
from dataclasses import dataclass

from trainyard.contract.errors import InvalidRequest, UnknownWorkspace
from trainyard.contract.runs import WorkspaceRecord
from trainyard.sdk.config_file import ConfigFile, find_config, read_config
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.service import Computes, Runs, Yard

DEFAULT_WORKSPACE = "default"


@dataclass(frozen=True)
class Place:
    yard: Yard
    workspace: WorkspaceRecord

    @property
    def runs(self) -> Runs:
        return self.yard.runs(self.workspace.id)

    @property
    def computes(self) -> Computes:
        return self.yard.computes(self.workspace.id)


def open_yard(*, start: bool = True) -> Yard:
    """The service that the environment, or config.json above this folder, means; started if need be and `start`."""
    config = _config()
    return Yard.from_env(os.environ, config.endpoint if config else None, start=start)


def open_place(name: str | None, *, make: bool = False) -> Place:
    """The workspace called `name`; else the one config.json names; else the only one, or the one called `default`,
    which is made when there is none and `make` is set."""
    config = _config()
    yard = Yard.from_env(os.environ, config.endpoint if config else None)
    if name is not None:
        return Place(yard, yard.workspaces.find(name))
    if config is not None:
        try:
            found = yard.workspaces.find(config.workspace_name, config.subscription_id, config.resource_group)
        except UnknownWorkspace:
            if yard.home is None:
                raise
            found = yard.workspaces.create(
                config.workspace_name, config.subscription_id, config.resource_group, exist_ok=True
            )
        return Place(yard, found)
    return Place(yard, _only(yard, make))


def _config() -> ConfigFile | None:
    """config.json of this folder or one above it. One that is there and cannot be read is an error, not a None."""
    try:
        path = find_config(None)
    except UserErrorException:
        return None
    return read_config(path)


def _only(yard: Yard, make: bool) -> WorkspaceRecord:
    known = yard.workspaces.list()
    by_name = {workspace.name: workspace for workspace in known}
    if len(known) == 1:
        return known[0]
    if DEFAULT_WORKSPACE in by_name:
        return by_name[DEFAULT_WORKSPACE]
    if known:
        raise InvalidRequest(f"Which workspace? You have {', '.join(sorted(by_name))}. Say it with --workspace NAME.")
    if make:
        return yard.workspaces.create(DEFAULT_WORKSPACE, exist_ok=True)
    raise InvalidRequest(
        "There is no workspace yet. `trainyard run script.py` makes one, and so does `trainyard workspace create NAME`."
    )
