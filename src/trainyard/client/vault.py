"""A workspace's secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trainyard.client.http import Http, quoted
from trainyard.contract.vault import SecretNames, SecretValues


class Vault:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/secrets"

    def set(self, values: Mapping[str, str]) -> None:
        self._http.json("POST", self._path, SecretValues(dict(values)))

    def values(self, names: Iterable[str]) -> dict[str, str | None]:
        """None for a name that has no secret."""
        return self._http.post(SecretValues, f"{self._path}/values", SecretNames(tuple(names))).values

    def delete(self, name: str) -> None:
        self._http.json("DELETE", f"{self._path}/{quoted(name)}")

    def names(self) -> tuple[str, ...]:
        return self._http.get(SecretNames, self._path).names
