"""Workspaces and experiments."""

from __future__ import annotations

from typing import Any

from trainyard.client.http import Http, quoted
from trainyard.contract.codec import from_json
from trainyard.contract.runs import ExperimentRecord, WorkspaceRecord


class Workspaces:
    def __init__(self, http: Http) -> None:
        self._http = http

    def create(
        self,
        name: str,
        subscription_id: str = "",
        resource_group: str = "",
        location: str = "",
        *,
        friendly_name: str | None = None,
        tags: dict[str, str] | None = None,
        exist_ok: bool = False,
    ) -> WorkspaceRecord:
        body = {
            "name": name,
            "subscription_id": subscription_id,
            "resource_group": resource_group,
            "location": location,
            "friendly_name": friendly_name,
            "tags": tags or {},
            "exist_ok": exist_ok,
        }
        return self._http.post(WorkspaceRecord, "/workspaces", body)

    def find(self, name: str, subscription_id: str | None = None, resource_group: str | None = None) -> WorkspaceRecord:
        """The workspace of that name (and subscription and group, where given), or UnknownWorkspace."""
        query = {"name": name, "subscription_id": subscription_id, "resource_group": resource_group}
        return self._http.get(WorkspaceRecord, "/workspaces/find", query)

    def get(self, workspace_id: str) -> WorkspaceRecord:
        return self._http.get(WorkspaceRecord, f"/workspaces/{workspace_id}")

    def list(self) -> list[WorkspaceRecord]:
        return self._http.get(list[WorkspaceRecord], "/workspaces")

    def update(self, workspace_id: str, change: dict[str, Any]) -> WorkspaceRecord:
        """`change` may hold friendly_name, description and tags."""
        return from_json(WorkspaceRecord, self._http.json("PATCH", f"/workspaces/{workspace_id}", change))

    def delete(self, workspace_id: str) -> None:
        self._http.json("DELETE", f"/workspaces/{workspace_id}")


class Experiments:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/experiments"

    def ensure(self, name: str) -> ExperimentRecord:
        """The experiment of that name, made if it is not there."""
        return self._http.post(ExperimentRecord, self._path, {"name": name})

    def get(self, name: str) -> ExperimentRecord:
        return self._http.get(ExperimentRecord, f"{self._path}/{quoted(name)}")

    def list(self, view: str = "active") -> list[ExperimentRecord]:
        """`view`: active, archived or all."""
        return self._http.get(list[ExperimentRecord], self._path, {"view": view})

    def update(
        self,
        name: str,
        *,
        set_tags: dict[str, str | None] | None = None,
        remove_tags: tuple[str, ...] = (),
        archived: bool | None = None,
        new_name: str | None = None,
    ) -> ExperimentRecord:
        body = {"set_tags": set_tags or {}, "remove_tags": remove_tags, "archived": archived, "new_name": new_name}
        return from_json(ExperimentRecord, self._http.json("PATCH", f"{self._path}/{quoted(name)}", body))

    def delete(self, experiment_id: str) -> None:
        """By id, as the SDK does. Refused while a run of it is active."""
        self._http.json("DELETE", f"{self._path}/{quoted(experiment_id)}")
