"""What a workspace has of a kind, by name: a dict, and in 2018's form a call with filters that answers one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


class Inventory(dict[str, Any]):
    def __init__(self, find: Callable[..., dict[str, Any]]) -> None:
        super().__init__(find())
        self._find = find

    def __call__(self, *filters: Any, **named: Any) -> dict[str, Any]:
        return self._find(*filters, **named)


class ByName(dict[str, Any]):
    """A dict that answers a list of what it holds when it is called, as the first releases' methods did."""

    def __call__(self) -> list[Any]:
        return list(self.values())


class Versions(list[Any]):
    """What the call with a name answered in 2018: that model's versions one by one, which other scripts of that year
    took for a dict."""

    def items(self) -> list[tuple[str, Any]]:
        return [(model.name, model) for model in self]

    def keys(self) -> list[str]:
        return [model.name for model in self]

    def values(self) -> list[Any]:
        return list(self)


def models_of(workspace: Workspace) -> Inventory:
    from trainyard.sdk.models.model import Model

    def find(name: str | None = None, tags: Any = None, id: str | None = None, **more: Any) -> Any:
        if name is not None:
            return Versions(Model.list(workspace, name=name, tags=tags, **more))
        one = [Model(workspace, id=id)] if id is not None else None
        return {model.name: model for model in one or Model.list(workspace, tags=tags, latest=True, **more)}

    return Inventory(find)


def images_of(workspace: Workspace) -> Inventory:
    from trainyard.sdk.services.image import Image

    def find(*filters: Any, **named: Any) -> dict[str, Any]:
        newest_last = reversed(Image.list(workspace, *filters, **named))
        return {image.name: image for image in newest_last}

    return Inventory(find)


def webservices_of(workspace: Workspace) -> Inventory:
    from trainyard.sdk.services.webservice import Webservice

    def find(*filters: Any, **named: Any) -> dict[str, Any]:
        return {service.name: service for service in Webservice.list(workspace, *filters, **named)}

    return Inventory(find)
