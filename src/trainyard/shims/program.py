"""The program that runs: which files are the user's own, and what old names are in them."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    import ast
    from typing import Any, Iterable

    from trainyard.shims.signs import Sign

_MOST_FILES = 200
_START = os.getcwd() if os.path.isdir(os.curdir) else os.sep
_read = {}  # type: dict[str, list[Sign]]
_cells = []  # type: list[Sign]


def signs() -> list[Sign]:
    """Of the script, of the modules beside it that it imports, and of the notebook cells so far."""
    main = _main_file()
    if main is None:
        return list(_cells)
    if main not in _read:
        from trainyard.shims.signs import signs_in

        _read[main] = [sign for tree in _reachable(main) for sign in signs_in(tree)]
    return _read[main] + _cells


def needs(*shims: str) -> bool:
    return any(sign.shim in shims for sign in signs())


def note_cell(found: Iterable[Sign]) -> None:
    _cells.extend(found)


def is_users(namespace: Any) -> bool:
    """Whether code with these globals is the user's: the script, a notebook's cells, a module in their folders."""
    if not namespace:
        return False
    if namespace.get("__name__") == "__main__":
        return True
    file = namespace.get("__file__")
    return bool(file) and is_below(file, folders())


def folders() -> list[str]:
    """Where the user's own files are: here, beside the script, and in a service the folder of its scoring code."""
    main = _main_file()
    return [_START, *([os.path.dirname(main)] if main else []), *filter(None, [os.environ.get("AML_APP_ROOT")])]


def is_below(path: Any, parents: Iterable[str]) -> bool:
    whole = os.path.realpath(os.fspath(path))
    if "site-packages" in whole or "dist-packages" in whole:
        return False
    return any(whole.startswith(os.path.join(os.path.realpath(parent), "")) for parent in parents if parent != os.sep)


def _main_file() -> str | None:
    """The script; in a service its scoring script, which a program of ours loads."""
    entry = os.environ.get("AZUREML_ENTRY_SCRIPT")
    if entry:
        entry = os.path.join(os.environ.get("AZUREML_SOURCE_DIRECTORY") or _START, entry)
        if os.path.isfile(entry):
            return entry
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(file) if file and os.path.isfile(file) and "ipykernel" not in file else None


def _reachable(main: str) -> list[ast.AST]:
    """The script and what it imports from its folder, each read once."""
    found = []  # type: list[ast.AST]
    waiting, seen = [main], {main}
    while waiting and len(found) < _MOST_FILES:
        path = waiting.pop()
        tree = _parsed(path)
        if tree is None:
            continue
        found.append(tree)
        for beside in _imported_beside(tree, os.path.dirname(path), os.path.dirname(main)):
            if beside not in seen:
                seen.add(beside)
                waiting.append(beside)
    return found


def _imported_beside(tree: ast.AST, here: str, root: str) -> list[str]:
    import ast

    names = []  # type: list[str]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names += [module] + [module + "." + alias.name if module else alias.name for alias in node.names]
    paths = []  # type: list[str]
    for name in names:
        for folder in (here, root):
            base = os.path.join(folder, *name.split("."))
            paths += [path for path in (base + ".py", os.path.join(base, "__init__.py")) if os.path.isfile(path)]
    return paths


def _parsed(path: str) -> ast.AST | None:
    import ast

    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None
