"""Registered environments, and builds of environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainyard.client.http import Http, quoted
from trainyard.contract.environments import BuildRecord, EnvironmentRecord, NewBuild


class Environments:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/environments"
        self._builds = f"/workspaces/{workspace_id}/environment-builds"

    def register(self, definition: dict[str, Any]) -> EnvironmentRecord:
        """The next version of `definition["name"]`; the latest one again if it says the same."""
        return self._http.post(EnvironmentRecord, self._path, {"definition": definition})

    def get(self, name: str, version: str | None = None) -> EnvironmentRecord:
        """That version, else the latest; UnknownEnvironment if there is none."""
        return self._http.get(EnvironmentRecord, f"{self._path}/{quoted(name)}", {"version": version})

    def versions(self, name: str) -> list[EnvironmentRecord]:
        """All versions, the latest first."""
        return self._http.get(list[EnvironmentRecord], f"{self._path}/{quoted(name)}/versions")

    def label(self, name: str, version: str, labels: Sequence[str]) -> EnvironmentRecord:
        """Put labels on that version, and take them off the one that had them."""
        path = f"{self._path}/{quoted(name)}/versions/{quoted(version)}/labels"
        return self._http.post(EnvironmentRecord, path, {"labels": list(labels)})

    def build(self, definition: dict[str, Any], *, relax_pins: bool = False) -> BuildRecord:
        """Ask for it to be built on the service's machine; answers at once."""
        return self._http.post(BuildRecord, self._builds, NewBuild(definition, relax_pins))

    def build_status(self, build_id: str, *, timeout_s: float = 0.0) -> BuildRecord:
        """How the build is; with a timeout (at most 20 s), as soon as it has ended."""
        return self._http.get(BuildRecord, f"{self._builds}/{quoted(build_id)}", {"timeout_s": timeout_s})

    def build_log(self, build_id: str, offset: int = 0) -> bytes:
        """What the build has said from byte `offset` on."""
        return self._http.send("GET", f"{self._builds}/{quoted(build_id)}/log", query={"offset": offset})

    def list(self) -> list[EnvironmentRecord]:  # last: below it `list` would mean this method
        """The latest version of each."""
        return self._http.get(list[EnvironmentRecord], self._path)
