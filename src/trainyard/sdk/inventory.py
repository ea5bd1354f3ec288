"""What a workspace has of a kind, by name: a dict, and in 2018's form a call with filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


class Found(list[Any]):
    """What the calls of 2018 answered: a list to some scripts of that year, a dict by name to others. It is both; of
    several with one name the first is found by it."""

    def items(self) -> list[tuple[str, Any]]:
        return [(each.name, each) for each in self]

    def keys(self) -> list[str]:
        return [each.name for each in self]

    def values(self) -> list[Any]:
        return list(self)

    def get(self, name: str, default: Any = None) -> Any:
        return next((each for each in self if each.name == name), default)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if (found := self.get(key)) is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None if isinstance(key, str) else super().__contains__(key)


class ByName(dict[str, Any]):
    """Called, it answers a list of what it holds, as the first releases' methods did."""

    def __init__(self, named: Iterable[tuple[str, Any]], find: Callable[..., Iterable[Any]] | None = None) -> None:
        super().__init__(named)
        self._find = find or self.values

    def __call__(self, *filters: Any, **named: Any) -> Found:
        return Found(self._find(*filters, **named))


def models_of(workspace: Workspace) -> ByName:
    from trainyard.sdk.models.model import Model

    def find(name: str | None = None, tags: Any = None, id: str | None = None, **more: Any) -> list[Any]:
        return [Model(workspace, id=id)] if id is not None else Model.list(workspace, name=name, tags=tags, **more)

    return ByName(((model.name, model) for model in Model.list(workspace, latest=True)), find)


def images_of(workspace: Workspace) -> ByName:
    from trainyard.sdk.services.image import Image

    def find(*filters: Any, **named: Any) -> list[Any]:
        return Image.list(workspace, *filters, **named)

    newest_last = reversed(find())
    return ByName(((image.name, image) for image in newest_last), find)


def webservices_of(workspace: Workspace) -> ByName:
    from trainyard.sdk.services.webservice import Webservice

    def find(*filters: Any, **named: Any) -> list[Any]:
        return Webservice.list(workspace, *filters, **named)

    return ByName(((service.name, service) for service in find()), find)
