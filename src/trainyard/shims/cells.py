"""IPython's own lines in a cell: what is left of it as Python, line for line."""

from __future__ import annotations

import ast
import re
from typing import Iterator

# Magics whose cells are Python for certain. A cell of any other is Python if it reads so.
_PYTHON_CELLS = frozenset(["time", "timeit", "capture", "prun", "memit", "mprun", "writefile", "file"])
_OTHER_LANGUAGES = frozenset(
    ["bash", "sh", "html", "javascript", "js", "latex", "markdown", "perl", "ruby", "script", "svg", "sql", "cmd", "R"]
)
_OF_DATABRICKS = frozenset(["sh", "scala", "r", "md", "fs"])  # there one sign makes the whole cell theirs
_MAGIC = re.compile(r"^(\s*)(?:[%!]|\?|\w[\w.]*\s*\?\??\s*$)")
_ASSIGNED = re.compile(r"^(\s*[\w, ]+=\s*)[%!].*$")
# What IPython takes for a magic without its sign ("automagic"), unless the line goes on as an expression would.
_WITHOUT_SIGN = re.compile(
    r"^(\s*)(?:pip|conda|mamba|uv|cat|cd|cp|less|ll|ls|man|mkdir|more|mv|pwd|rm|rmdir|load_ext|matplotlib|run)"
    r"(?:\s+(?![=.,:)\]]|in\s|is\s|and\s|or\s|if\s|not\s).*)?$"
)


def as_python(cell: str) -> str:
    """The cell with its magics as `pass`, on the same lines; "" for a cell in another language."""
    lines = cell.splitlines()
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return ""
    magic = re.match(r"(%%?)(\w*)", lines[first])
    sign, name = magic.groups() if magic is not None else ("", "")
    if name in _OF_DATABRICKS or (sign == "%%" and (not name or name in _OTHER_LANGUAGES)):
        return ""
    if sign == "%%":
        lines[first] = ""
    indent = re.match(r"\s*", lines[first])
    if indent is not None and indent[0] and lines[first].strip():  # IPython takes the first line's indent off
        lines = [line[len(indent[0]) :] if line.startswith(indent[0]) else line for line in lines]
    plain = "\n".join(lines)
    if _is_python(plain):
        return plain
    left = "\n".join(_without_magics(lines))
    maybe_foreign = name == "sql" if sign == "%" else bool(sign) and name not in _PYTHON_CELLS
    return "" if maybe_foreign and not _is_python(left) else left


def written_file(cell: str) -> str | None:
    """The name that `%%writefile` gives a cell."""
    found = re.match(r"\s*%%(?:writefile|file)\s+(?:(?:-a|--append)\s+)?(.+)", cell)
    return found[1].strip().strip("\"'") if found else None


def goes_on(cell: str) -> bool:
    """Whether the cell writes on where an earlier one stopped."""
    return re.match(r"\s*%%(?:writefile|file)\s+(?:-a|--append)\s", cell) is not None


def _is_python(text: str) -> bool:
    """So that a line that begins with the operator % is left alone."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _without_magics(lines: list[str]) -> Iterator[str]:
    continued = False  # a magic's line, which ends with a backslash
    for line in lines:
        left = "" if continued else _line(line)
        continued = line.endswith("\\") and (continued or left != line)
        yield left


def _line(line: str) -> str:
    magic = _MAGIC.match(line) or _WITHOUT_SIGN.match(line)
    if magic is not None:
        return magic[1] + "pass"
    assigned = _ASSIGNED.match(line)
    return assigned[1] + "None" if assigned is not None else line
