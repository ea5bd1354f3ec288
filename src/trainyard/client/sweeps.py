"""Sweeps."""

from __future__ import annotations

from trainyard.client.http import Http, quoted
from trainyard.contract.runs import RunRecord
from trainyard.contract.sweeps import NewSweep, SweepRecord


class Sweeps:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/sweeps"

    def create(self, new: NewSweep) -> RunRecord:
        """Start a sweep; answers its parent run. Its run id makes a second send of the same request harmless."""
        return self._http.post(RunRecord, self._path, new)

    def get(self, run_id: str) -> SweepRecord:
        """The sweep with all its children."""
        return self._http.get(SweepRecord, f"{self._path}/{quoted(run_id)}")
