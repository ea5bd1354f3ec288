"""Deployed services and 2018's images. Scoring goes to a service's own address, not through here."""

from __future__ import annotations

from trainyard.client.http import Http, quoted
from trainyard.contract.codec import from_json
from trainyard.contract.endpoints import (
    ImageRecord,
    NewImage,
    NewKey,
    NewService,
    Recognised,
    ServiceChange,
    ServiceKeys,
    ServiceQuery,
    ServiceRecord,
    ServiceToken,
    Usage,
    VersionSpec,
)


class Services:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/services"

    def create(self, new: NewService) -> ServiceRecord:
        """Accepted, not there yet: see `wait`. `new.request_id` makes a second send of the same request harmless."""
        return self._http.post(ServiceRecord, self._path, new)

    def recognise(self, spec: VersionSpec) -> Recognised:
        """What would serve these models without code; ModelRefused if nothing does."""
        return self._http.post(Recognised, f"{self._path}/recognise", spec)

    def get(self, name: str) -> ServiceRecord:
        return self._http.get(ServiceRecord, self._one(name))

    def wait(self, name: str, seen: int, timeout_s: float = 20.0) -> ServiceRecord:
        """The service as soon as it changed since generation `seen`, else after the timeout (at most 20 s)."""
        return self._http.get(ServiceRecord, f"{self._one(name)}/wait", {"seen": seen, "timeout_s": timeout_s})

    def find(self, query: ServiceQuery) -> list[ServiceRecord]:
        return self._http.post(list[ServiceRecord], f"{self._path}/find", query)

    def change(self, name: str, change: ServiceChange) -> ServiceRecord:
        return from_json(ServiceRecord, self._http.json("PATCH", self._one(name), change))

    def delete(self, name: str) -> bool:
        """Its name is free at once. Whether its processes are gone, too."""
        return bool(self._http.json("DELETE", self._one(name))["gone"])

    def delete_version(self, name: str, version: str) -> ServiceRecord:
        return from_json(ServiceRecord, self._http.json("DELETE", f"{self._one(name)}/versions/{quoted(version)}"))

    def keys(self, name: str) -> ServiceKeys:
        return self._http.get(ServiceKeys, f"{self._one(name)}/keys")

    def set_key(self, name: str, new: NewKey) -> ServiceKeys:
        """When it answers, the old key opens nothing any more."""
        return self._http.post(ServiceKeys, f"{self._one(name)}/keys", new)

    def token(self, name: str) -> ServiceToken:
        return self._http.post(ServiceToken, f"{self._one(name)}/token")

    def log(self, name: str, *, lines: int | None = None, offset: int = 0) -> bytes:
        """The last `lines`, or without them what it said from byte `offset` on."""
        return self._http.send("GET", f"{self._one(name)}/log", query={"lines": lines, "offset": offset})

    def usage(self, name: str) -> Usage:
        return self._http.get(Usage, f"{self._one(name)}/usage")

    def _one(self, name: str) -> str:
        return f"{self._path}/{quoted(name)}"


class Images:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/images"

    def create(self, new: NewImage) -> ImageRecord:
        return self._http.post(ImageRecord, self._path, new)

    def get(self, name: str, version: int) -> ImageRecord:
        return self._http.get(ImageRecord, self._one(name, version))

    def change(self, name: str, version: int, change: dict[str, dict[str, str | None]]) -> ImageRecord:
        """`change` may hold tags and properties, each whole."""
        return from_json(ImageRecord, self._http.json("PATCH", self._one(name, version), change))

    def delete(self, name: str, version: int) -> None:
        self._http.json("DELETE", self._one(name, version))

    def list(self, name: str | None = None) -> list[ImageRecord]:  # last: below it `list` would mean this method
        """The newest first."""
        return self._http.get(list[ImageRecord], self._path, {"name": name})

    def _one(self, name: str, version: int) -> str:
        return f"{self._path}/{quoted(name)}/{version}"
