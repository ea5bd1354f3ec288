"""The registry of models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trainyard.client.http import Http, quoted
from trainyard.contract.codec import from_json
from trainyard.contract.models import ModelChange, ModelPage, ModelQuery, ModelRecord, NewModel


class Models:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{workspace_id}/models"

    def register(self, new: NewModel) -> ModelRecord:
        """The next version of that name. `new.request_id` makes a second send of the same request harmless."""
        return self._http.post(ModelRecord, self._path, new)

    def get(self, model_id: str) -> ModelRecord:
        """By `name:version`, `name@alias`, or a bare name for its newest version."""
        return self._http.get(ModelRecord, self._one(model_id))

    def find(self, query: ModelQuery) -> ModelRecord:
        """The newest that fits, or UnknownModel."""
        return self._http.post(ModelRecord, f"{self._path}/one", query)

    def find_all(self, query: ModelQuery) -> Iterator[ModelRecord]:
        """Every page, one after the other, the newest first."""
        while True:
            page = self._http.post(ModelPage, f"{self._path}/find", query)
            yield from page.models
            if page.next is None:
                return
            query = replace(query, before=page.next)

    def change(self, model_id: str, change: ModelChange) -> ModelRecord:
        return from_json(ModelRecord, self._http.json("PATCH", self._one(model_id), change))

    def set_alias(self, model_id: str, alias: str) -> ModelRecord:
        """Put it on that version, and take it off the one that had it."""
        return from_json(ModelRecord, self._http.json("PUT", f"{self._one(model_id)}/aliases/{quoted(alias)}"))

    def remove_alias(self, model_id: str, alias: str) -> ModelRecord:
        return from_json(ModelRecord, self._http.json("DELETE", f"{self._one(model_id)}/aliases/{quoted(alias)}"))

    def delete(self, model_id: str) -> None:
        """Refused (ModelInUse) while a service has it."""
        self._http.json("DELETE", self._one(model_id))

    def _one(self, model_id: str) -> str:
        return f"{self._path}/{quoted(model_id)}"
