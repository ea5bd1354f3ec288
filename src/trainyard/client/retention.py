"""Deleting for good: runs, by rule and by name, and content that nothing names."""

from __future__ import annotations

from trainyard.client.http import Http, quoted
from trainyard.contract.codec import from_json
from trainyard.contract.retention import Deleted, Deletion, Rule, Swept


class Retention:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._workspace = f"/workspaces/{workspace_id}"
        self._path = f"{self._workspace}/retention"

    def delete(self, asked: Deletion) -> Deleted:
        """Hard deletion of runs; a dry run unless `asked` says otherwise."""
        return self._http.post(Deleted, f"{self._workspace}/runs/delete", asked)

    def rules(self) -> list[Rule]:
        return self._http.get(list[Rule], self._path)

    def add(self, rule: Rule) -> list[Rule]:
        return self._http.post(list[Rule], self._path, rule)

    def remove(self, name: str) -> list[Rule]:
        return from_json(list[Rule], self._http.json("DELETE", f"{self._path}/{quoted(name)}"))

    def apply(self, *, dry_run: bool) -> list[Deleted]:
        query = {"dry_run": int(dry_run)}
        return from_json(list[Deleted], self._http.json("POST", f"{self._path}/apply", query=query))

    def sweep(self, *, dry_run: bool, now: bool = False) -> Swept:
        query = {"dry_run": int(dry_run), "now": int(now)}
        return from_json(Swept, self._http.json("POST", "/content/sweep", query=query))
