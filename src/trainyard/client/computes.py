"""Compute targets."""

from __future__ import annotations

from trainyard.client.http import Http, quoted
from trainyard.contract.codec import from_json
from trainyard.contract.computes import AttachCompute, ComputeChange, ComputeRecord, ComputeStatus, NewCompute


class Computes:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/computes"

    def create(self, new: NewCompute) -> ComputeRecord:
        """Make a target, or bring the one of that name, kind and node size to these limits."""
        return self._http.post(ComputeRecord, self._path, new)

    def attach(self, new: AttachCompute) -> ComputeRecord:
        """Reach a machine over SSH and make it a target; answers when it has been reached."""
        return self._http.post(ComputeRecord, f"{self._path}/attach", new)

    def get(self, name: str) -> ComputeRecord:
        return self._http.get(ComputeRecord, f"{self._path}/{quoted(name)}")

    def status(self, name: str) -> ComputeStatus:
        return self._http.get(ComputeStatus, f"{self._path}/{quoted(name)}/status")

    def update(self, name: str, change: ComputeChange) -> ComputeRecord:
        return from_json(ComputeRecord, self._http.json("PATCH", f"{self._path}/{quoted(name)}", change))

    def delete(self, name: str) -> None:
        """Refused while a run uses it."""
        self._http.json("DELETE", f"{self._path}/{quoted(name)}")

    def preempt(self, name: str, node_id: str | None = None) -> list[str]:
        """Take a low-priority node away (the busy one that started last, unless named); answers the runs it hit."""
        return self._http.post(list[str], f"{self._path}/{quoted(name)}/preempt", query={"node_id": node_id})

    def list(self) -> list[ComputeRecord]:  # last: below it `list` would mean this method
        return self._http.get(list[ComputeRecord], self._path)
