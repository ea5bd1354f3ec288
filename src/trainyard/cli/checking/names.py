"""Which names of the SDK a piece of code uses, and whether Trainyard has them: each is really looked up.

Objects are followed as far as the source tells what they are: `ws = Workspace.from_config()` makes `ws.models` a name
of Workspace. What the source does not tell is not guessed at.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trainyard.cli.checking.findings import Finding, Kind
from trainyard.cli.checking.sources import Code, Place
from trainyard.sdk.elsewhere import instead_of
from trainyard.shims.signs import Aliases

_SUBMITTED = {"HyperDriveConfig": "HyperDriveRun", "HyperDriveRunConfig": "HyperDriveRun"}
_NOT_HERE = "Trainyard does not have it"
_REFUSED = "it is refused here; what it raises says what to use instead"


def names_of(code: Code) -> Iterator[Finding]:
    with contextlib.suppress(Missing):
        look_up("azureml.core.compute")  # so that the special kinds of targets are known
    reader = _Reader(code.file)
    for part in code.parts:
        yield from reader.read(part.tree, part.cell)


class Missing(LookupError):
    """`name`: the first part of a dotted name that is not there."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._aliases = Aliases()
        self._types: dict[str, type] = {}  # what the source says a variable is
        self._cell: int | None = None
        self._found: set[Finding] = set()

    def read(self, tree: ast.Module, cell: int | None) -> list[Finding]:
        self._cell, self._found = cell, set()
        self._aliases.read(tree)
        for node in ast.walk(tree):
            self._import(node)
        for node in _in_order(tree):
            self._follow(node)
        return sorted(self._found, key=lambda it: (it.place.line, it.name))

    def _note(self, line: int, name: str, missing: str | None) -> None:
        kind = Kind.HERE if missing is None else Kind.MISSING
        self._found.add(Finding(Place(self._file, line, self._cell), kind, name, missing or ""))

    def _import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "azureml":
                    self._look_up(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "azureml":
            for alias in node.names:
                self._look_up(node.lineno, node.module if alias.name == "*" else f"{node.module}.{alias.name}")

    def _look_up(self, line: int, dotted: str | None) -> Any:
        try:
            found = look_up(dotted or "")
        except Missing as error:
            self._note(line, error.name, str(error))
            return None
        self._note(line, dotted or "", _REFUSED if _refuses(found) else None)
        return found

    def _follow(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._bind(node.targets[0].id, node.value)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self._bind(node.optional_vars.id, node.context_expr)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            self._types.pop(node.target.id, None)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._aliases.names.pop(node.id, None)  # from here on it is something else
        elif isinstance(node, ast.arg):
            self._aliases.names.pop(node.arg, None)

    def _bind(self, name: str, value: ast.expr) -> None:
        kind = self._kind_of(value)
        if kind is None:
            self._types.pop(name, None)
        else:
            self._types[name] = kind

    def _attribute(self, node: ast.Attribute) -> None:
        dotted = self._aliases.dotted(node)
        if dotted is not None and dotted.startswith("azureml."):
            if not self._is_part_of_longer(node):
                self._look_up(node.lineno, dotted)
            return
        kind = self._types.get(node.value.id) if isinstance(node.value, ast.Name) else self._kind_of(node.value)
        if kind is None or node.attr.startswith("__"):
            return
        name = f"{kind.__name__}.{node.attr}"
        missing = None if _has(kind, node.attr) else instead_of(name) or _NOT_HERE
        if missing is None and _refuses(getattr(kind, node.attr, None)):
            missing = _REFUSED
        if missing is not None and isinstance(node.ctx, ast.Store):
            note = "it is set, and nothing here reads it"
            self._found.add(Finding(Place(self._file, node.lineno, self._cell), Kind.IGNORED, name, note))
        else:
            self._note(node.lineno, name, missing)

    @staticmethod
    def _is_part_of_longer(node: ast.AST) -> bool:
        return bool(getattr(node, "_inside", False))

    def _call(self, node: ast.Call) -> None:
        """Arguments by name that the callable has not got."""
        called, name = self._called(node)
        known = None if called is None else _parameters(called)
        for keyword in node.keywords:
            if known is not None and keyword.arg is not None and keyword.arg not in known:
                self._note(keyword.value.lineno, f"{name}({keyword.arg}=)", "the parameter is not there")

    def _called(self, node: ast.Call) -> tuple[Callable[..., Any] | None, str]:
        dotted = self._aliases.dotted(node.func)
        if dotted is not None and dotted.startswith("azureml."):
            try:
                found = look_up(dotted)
            except Missing:
                return None, dotted
            return (found if callable(found) else None), dotted.rpartition(".")[2]
        if isinstance(node.func, ast.Attribute):
            kind = self._kind_of(node.func.value)
            found = getattr(kind, node.func.attr, None) if kind is not None else None
            return (found if callable(found) else None), f"{kind.__name__}.{node.func.attr}" if kind else ""
        return None, ""

    def _kind_of(self, node: ast.expr) -> type | None:
        """What an expression gives, as far as it can be told."""
        if isinstance(node, ast.Name):
            return self._types.get(node.id)
        if isinstance(node, ast.Call):
            called, name = self._called(node)
            if isinstance(called, type):
                return None if _gives_any(called) else called
            if name == "Experiment.submit":
                return self._submitted(node)
            return returned(called) if called is not None else None
        if isinstance(node, ast.Attribute):
            kind = self._kind_of(node.value)
            found = inspect.getattr_static(kind, node.attr, None) if kind is not None else None
            return returned(found.fget) if isinstance(found, property) and found.fget is not None else None
        return None

    def _submitted(self, node: ast.Call) -> type | None:
        """The run that a configuration makes."""
        given = node.args[0] if node.args else next((it.value for it in node.keywords if it.arg == "config"), None)
        kind = self._kind_of(given) if given is not None else None
        if kind is None:
            return None
        name = _SUBMITTED.get(kind.__name__, "ScriptRun")
        module = "azureml.train.hyperdrive" if name == "HyperDriveRun" else "azureml.core"
        try:
            found = look_up(f"{module}.{name}")
        except Missing:
            return None
        return found if isinstance(found, type) else None


def _refuses(found: Any) -> bool:
    return getattr(found, "__annotations__", {}).get("return") == "NoReturn"


def _gives_any(kind: type) -> bool:
    """Whether calling the class gives something of a kind that depends on what is there, as Datastore does."""
    return getattr(kind.__new__, "__annotations__", {}).get("return") == "Any"


def _parameters(called: Callable[..., Any]) -> set[str] | None:
    """Their names; of a method, also those of the special kinds of its class. None: it takes any."""
    holder = getattr(called, "__qualname__", "").rpartition(".")[0]
    kind = getattr(inspect.getmodule(called), holder, None) if holder else None
    alike = [getattr(it, called.__name__, None) for it in _below(kind)] if isinstance(kind, type) else []
    known: set[str] = set()
    for each in (called, *filter(None, alike)):
        try:
            parameters = inspect.signature(each).parameters.values()
        except (TypeError, ValueError):
            return None
        if any(it.kind is inspect.Parameter.VAR_KEYWORD for it in parameters):
            return None
        known |= {it.name for it in parameters}
    return known


def look_up(dotted: str) -> Any:
    """The thing that a dotted name of the SDK names. Missing says what to use instead."""
    parts = dotted.split(".")
    found: Any = None
    at = 0
    for at in range(1, len(parts) + 1):
        try:
            found = importlib.import_module(".".join(parts[:at]))
        except ImportError as error:
            if at == 1 or found is None or not hasattr_quietly(found, parts[at - 1]):
                raise Missing(".".join(parts[:at]), _reason(dotted, error)) from error
            at -= 1
            break
    for upto in range(at + 1, len(parts) + 1):
        part = parts[upto - 1]
        try:
            found = getattr(found, part)
        except (AttributeError, ImportError) as error:
            if isinstance(found, type) and _has(found, part):
                return None
            raise Missing(".".join(parts[:upto]), _reason(dotted, error)) from error
    return found


def hasattr_quietly(holder: Any, name: str) -> bool:
    try:
        return hasattr(holder, name)
    except ImportError:
        return False


def returned(function: Any) -> type | None:
    """The class that a function's annotation says it gives; None for anything less plain."""
    said = getattr(function, "__annotations__", {}).get("return")
    found = re.fullmatch(r"([A-Z]\w*)(?: \| None)?", said) if isinstance(said, str) else None
    module = inspect.getmodule(function)
    if found is None or module is None:
        return None
    kind = getattr(module, found[1], None) or _imported_for_types(module, found[1])
    ours = isinstance(kind, type) and kind.__module__.startswith(("trainyard.", "azureml."))
    return kind if ours else None


def _imported_for_types(module: Any, name: str) -> Any:
    """What a module imports under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and node.module and any(it.name == name for it in node.names):
            return getattr(importlib.import_module(node.module), name, None)
    return None


def _has(kind: type, name: str) -> bool:
    """Itself or one of its own kind: what makes the object may give a special one."""
    return any(hasattr(it, name) or name in _set_on_self(it) for it in (kind, *_below(kind)))


def _below(kind: type) -> Iterator[type]:
    subclasses: list[type] = type.__subclasses__(kind)
    for each in subclasses:
        yield each
        yield from _below(each)


def _set_on_self(kind: type) -> set[str]:
    """Attributes that the methods of a class and of its bases set."""
    found: set[str] = set()
    for each in kind.__mro__:
        if each is not object and each not in _SEEN:
            try:
                source = inspect.getsource(sys.modules[each.__module__])  # helpers beside the class set some as well
            except (OSError, TypeError):
                source = ""
            found_here = re.findall(r"\b(?:self|made|service)\.(\w+)(?:\s*:[^=\n]+)?\s*(?:,|=(?!=))", source)
            _SEEN[each] = {*found_here, *getattr(each, "__annotations__", ())}
        found |= _SEEN.get(each, set())
    return found


_SEEN: dict[type, set[str]] = {}


def _reason(dotted: str, error: Exception) -> str:
    known = instead_of(dotted)
    if known is not None:
        return known
    text = "" if isinstance(error, AttributeError) else str(error)
    return text if "azureml" not in text and "module" not in text and text else _NOT_HERE


def _in_order(tree: ast.AST) -> Iterable[ast.AST]:
    """Every node, in the order of the source; the inner parts of a dotted name are marked."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            vars(node.value)["_inside"] = True
    flat = [node for node in ast.walk(tree) if hasattr(node, "lineno") or isinstance(node, ast.withitem)]
    return sorted(flat, key=_position)


def _position(node: ast.AST) -> tuple[int, int]:
    """An assignment counts where it ends: its right side is read with the names from before it."""
    if isinstance(node, ast.Assign):
        return node.end_lineno or node.lineno, 1_000_000
    at: Any = node.context_expr if isinstance(node, ast.withitem) else node
    return at.lineno, at.col_offset
