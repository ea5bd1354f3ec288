"""Being there when a module is imported: before it, after it, in its place, or where there is none any more."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from _thread import get_ident

from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Sequence

    Apply = Callable[[ModuleType], None]


def after_import(name: str, apply: Apply) -> None:
    """Call `apply` with the module as soon as it has been imported; at once if it has been already."""
    module = sys.modules.get(name)
    if module is not None:
        _guarded(apply, module)
    else:
        _watch()._after.setdefault(name, []).append(apply)


def before_import(name: str, ready: Callable[[], None]) -> None:
    """Call `ready` just before the module is imported for the first time."""
    if name not in sys.modules:
        _watch()._before.setdefault(name, []).append(ready)


def provide(name: str, make: Callable[[ModuleType], None], package: bool = False) -> None:
    """A module that exists nowhere (any more): `make` fills it when somebody imports it. A real one goes first."""
    _provider()._made[name] = (make, package)


def alias(name: str, real: Callable[[str], str | None]) -> None:
    """Import another module in the place of `name` and of every module below it; `real` says which, or None."""
    _watch()._aliases[name] = real


class _Watcher:
    """First among the finders: it asks the others and remembers who wanted to know."""

    def __init__(self) -> None:
        self._after = {}  # type: dict[str, list[Apply]]
        self._before = {}  # type: dict[str, list[Callable[[], None]]]
        self._aliases = {}  # type: dict[str, Callable[[str], str | None]]
        self._looking = set()  # type: set[int]  # threads that ask the other finders

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        for ready in self._before.pop(fullname, ()):
            _guarded(ready)
        real = self._aliases.get(fullname.partition(".")[0])
        if real is not None:
            instead = real(fullname)
            if instead is not None:
                return importlib.machinery.ModuleSpec(fullname, _loader(_Alias(instead)))
        if fullname not in self._after or get_ident() in self._looking:
            return None
        spec = self._ask_the_others(fullname, path, target)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            self._call_after(spec.loader, fullname)
        return spec

    def _ask_the_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        self._looking.add(get_ident())
        try:
            for finder in sys.meta_path:
                if finder is not self and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None:
                        return spec
            return None
        finally:
            self._looking.discard(get_ident())

    def _call_after(self, loader: Any, name: str) -> None:
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            if module.__name__ == name:
                for apply in self._after.pop(name, ()):
                    _guarded(apply, module)

        loader.exec_module = exec_module


class _Alias:
    def __init__(self, real: str) -> None:
        self._real = real
        self._spec = None  # type: importlib.machinery.ModuleSpec | None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has just put the alias's there


class _Provider:
    """Last among the finders."""

    def __init__(self) -> None:
        self._made = {}  # type: dict[str, tuple[Callable[[ModuleType], None], bool]]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._made:
            return None
        make, package = self._made[fullname]
        return importlib.machinery.ModuleSpec(fullname, _loader(_Made(make)), is_package=package)


class _Made:
    def __init__(self, make: Callable[[ModuleType], None]) -> None:
        self._make = make

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._make(module)


def _loader(loader: Any) -> Any:
    """It has a loader's methods, and not its class: that one costs more to import than all of this."""
    return loader


def _guarded(call: Callable[..., None], *arguments: Any) -> None:
    """A helper that does not fit this version of a framework is said, and the script goes on without it."""
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001
        did(
            call.__module__.rpartition(".")[2], "not applied, because it does not fit what is installed: " + repr(error)
        )


def _watch() -> _Watcher:
    for finder in sys.meta_path:
        if isinstance(finder, _Watcher):
            return finder
    watcher = _Watcher()
    sys.meta_path.insert(0, watcher)
    return watcher


def _provider() -> _Provider:
    for finder in sys.meta_path:
        if isinstance(finder, _Provider):
            return finder
    provider = _Provider()
    sys.meta_path.append(provider)
    return provider
