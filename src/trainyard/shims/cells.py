"""IPython's own lines in a cell: what is left of it as Python, line for line."""

from __future__ import annotations

import ast
import re

_OTHER_LANGUAGES = frozenset(
    ["bash", "sh", "html", "javascript", "js", "latex", "markdown", "perl", "ruby", "script", "svg", "sql", "cmd", "R"]
)
_MAGIC = re.compile(r"^(\s*)(?:[%!]|\?|\w[\w.]*\s*\?\??\s*$)")
_ASSIGNED = re.compile(r"^(\s*[\w, ]+=\s*)[%!].*$")


def as_python(cell: str) -> str:
    """The cell with its magics as `pass`, on the same lines; "" for a cell in another language."""
    lines = cell.splitlines()
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return ""
    if lines[first].startswith("%%"):
        magic = lines[first][2:].split(None, 1)
        if not magic or magic[0] in _OTHER_LANGUAGES:
            return ""
        lines[first] = ""
    indent = re.match(r"\s*", lines[first])
    if indent is not None and indent[0] and lines[first].strip():  # IPython takes the first line's indent off
        lines = [line[len(indent[0]) :] if line.startswith(indent[0]) else line for line in lines]
    plain = "\n".join(lines)
    return plain if _is_python(plain) else "\n".join(_line(line) for line in lines)


def written_file(cell: str) -> str | None:
    """The name that `%%writefile` gives a cell."""
    found = re.match(r"\s*%%(?:writefile|file)\s+(?:-a\s+)?(.+)", cell)
    return found[1].strip().strip("\"'") if found else None


def _is_python(text: str) -> bool:
    """So that a line that begins with the operator % is left alone."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _line(line: str) -> str:
    magic = _MAGIC.match(line)
    if magic is not None:
        return magic[1] + "pass"
    assigned = _ASSIGNED.match(line)
    return assigned[1] + "None" if assigned is not None else line
