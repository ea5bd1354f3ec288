"""The code in a folder: scripts, the code cells of notebooks, scripts that cells write, and package lists."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainyard.shims.cells import as_python, goes_on, written_file

_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "env", "build", "dist"})
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class Place:
    """Where something stands. Lines count from 1, cells are code cells and count from 1 as well."""

    file: str
    line: int
    cell: int | None = None

    def __str__(self) -> str:
        return f"{self.line}" if self.cell is None else f"cell {self.cell}:{self.line}"


@dataclass(frozen=True)
class Code:
    """Python that goes by the same names: a script, or all cells of a notebook, each parsed alone."""

    file: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Part:
    tree: ast.Module
    cell: int | None = None


@dataclass(frozen=True)
class Unread:
    place: Place
    why: str


@dataclass
class Sources:
    files: list[str] = field(default_factory=list)
    code: list[Code] = field(default_factory=list)
    packages: list[tuple[str, int | None, str]] = field(default_factory=list)  # file, cell, text of a list of packages
    unread: list[Unread] = field(default_factory=list)


def read(path: Path) -> Sources:
    """Everything below a folder, or one file."""
    found = Sources()
    root = path if path.is_dir() else path.parent
    for file in _files(path):
        name = file.relative_to(root).as_posix()
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            found.unread.append(Unread(Place(name, 1), f"cannot be read: {error.strerror}"))
            continue
        found.files.append(name)
        if file.suffix == ".ipynb":
            _read_notebook(name, text, found)
        elif file.suffix == ".py":
            _read_script(name, text, found)
        else:
            found.packages.append((name, None, text))
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for at, folders, names in os.walk(path):
        folders[:] = sorted(it for it in folders if it not in _SKIPPED and not it.startswith("."))
        for name in sorted(names):
            file = Path(at, name)
            if _is_ours(file) and file.is_file() and file.stat().st_size <= _MOST_BYTES:
                yield file


def _is_ours(file: Path) -> bool:
    if file.suffix in (".py", ".ipynb"):
        return True
    name = file.name.lower()
    return (file.suffix in (".yml", ".yaml")) or (file.suffix == ".txt" and name.startswith("requirements"))


def _read_script(name: str, text: str, found: Sources) -> None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        found.unread.append(_unread(name, None, text, error))
        return
    found.code.append(Code(name, (Part(tree),)))


def _read_notebook(name: str, text: str, found: Sources) -> None:
    try:
        notebook = json.loads(text)
        sources = [_text(cell) for cell in notebook["cells"] if cell.get("cell_type") == "code"]
        language = _language(notebook.get("metadata", {}))
    except (ValueError, KeyError, TypeError, AttributeError):
        found.unread.append(Unread(Place(name, 1), "is no notebook of format 4. Open and save it with Jupyter"))
        return
    if language != "python":
        if any("azureml" in source for source in sources):
            found.unread.append(Unread(Place(name, 1), f"is a notebook in {language}. Trainyard is used from Python"))
        return
    parts = []
    scripts: list[list[tuple[int, str]]] = []  # those that cells write, each by one cell or several
    latest: dict[str, list[tuple[int, str]]] = {}
    for number, source in enumerate(sources, 1):
        python = as_python(source)
        if (target := written_file(source)) is not None:
            if target.endswith(".py"):
                if target not in latest or not goes_on(source):
                    latest[target] = []
                    scripts.append(latest[target])
                latest[target].append((number, python))
            elif target.endswith((".yml", ".yaml", ".txt")):
                found.packages.append((name, number, "\n" + source.partition("\n")[2]))
            continue
        try:
            parts.append(Part(ast.parse(python), number))
        except (SyntaxError, ValueError) as error:
            found.unread.append(_unread(name, number, python, error))
    found.code.append(Code(name, tuple(parts)))
    for pieces in scripts:
        _read_written(name, pieces, found)


def _read_written(name: str, pieces: list[tuple[int, str]], found: Sources) -> None:
    """A script that one cell begins and others go on with: only the whole of it is Python. Each keeps its lines."""
    whole = "\n".join(text for _, text in pieces)
    try:
        tree = ast.parse(whole)
    except (SyntaxError, ValueError) as error:
        found.unread.append(_unread(name, pieces[0][0], whole, error))
        return
    parts = []
    before = 0
    for cell, text in pieces:
        lines = range(before + 1, before + text.count("\n") + 2)
        body = [ast.increment_lineno(it, -before) for it in tree.body if it.lineno in lines]
        parts.append(Part(ast.Module(body, []), cell))
        before = lines[-1]
    found.code.append(Code(name, tuple(parts)))


def _unread(name: str, cell: int | None, text: str, error: SyntaxError | ValueError) -> Unread:
    at = getattr(error, "lineno", None) or 1
    said = getattr(error, "msg", None) or str(error)
    line = "".join(text.splitlines()[at - 1 : at])
    hint = ""
    if "print" in said:
        hint = "; it looks like Python 2"
    elif re.search(r"\basync\s*=", line):
        hint = "; async is a keyword since Python 3.7, and PyTorch's argument is non_blocking="
    return Unread(Place(name, at, cell), f"is no Python of today: {said}{hint}")


def _language(metadata: dict[str, Any]) -> str:
    """As its kernel says; Python when it says nothing."""
    said = metadata.get("kernelspec", {}).get("language") or metadata.get("language_info", {}).get("name")
    return "python" if not said or "python" in str(said).lower() else str(said)


def _text(cell: dict[str, object]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
