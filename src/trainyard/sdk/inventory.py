"""What a workspace has of a kind: a dict by name; and in 2018's form a call with filters, whose answer is walked
through one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace


class Inventory(dict[str, Any]):
    def __init__(self, find: Callable[..., Iterable[Any]]) -> None:
        super().__init__((each.name, each) for each in find())
        self._find = find

    def __call__(self, *filters: Any, **named: Any) -> Found:
        return Found(self._find(*filters, **named))


class ByName(dict[str, Any]):
    """A dict that answers a list of what it holds when it is called, as the first releases' methods did."""

    def __call__(self) -> list[Any]:
        return list(self.values())


class Found(list[Any]):
    """What a call answered in 2018: what was found, one by one. Other scripts of that year took it for a dict."""

    def items(self) -> list[tuple[str, Any]]:
        return [(each.name, each) for each in self]

    def keys(self) -> list[str]:
        return [each.name for each in self]

    def values(self) -> list[Any]:
        return list(self)

    def __getitem__(self, place: Any) -> Any:
        return dict(self.items())[place] if isinstance(place, str) else super().__getitem__(place)


def models_of(workspace: Workspace) -> Inventory:
    from trainyard.sdk.models.model import Model

    def find(name: str | None = None, tags: Any = None, id: str | None = None, **more: Any) -> list[Model]:
        if name is not None:
            return Model.list(workspace, name=name, tags=tags, **more)
        return [Model(workspace, id=id)] if id is not None else Model.list(workspace, tags=tags, latest=True, **more)

    return Inventory(find)


def images_of(workspace: Workspace) -> Inventory:
    from trainyard.sdk.services.image import Image

    def find(*filters: Any, **named: Any) -> list[Image]:
        return list(reversed(Image.list(workspace, *filters, **named)))  # of one name the newest counts

    return Inventory(find)


def webservices_of(workspace: Workspace) -> Inventory:
    from trainyard.sdk.services.webservice import Webservice

    def find(*filters: Any, **named: Any) -> list[Webservice]:
        return Webservice.list(workspace, *filters, **named)

    return Inventory(find)
