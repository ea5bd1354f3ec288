"""Paths with wildcards: `*` and `?` within a name, `[ab]`, `**` over any folders."""

from __future__ import annotations

import functools
import re

_WILD = re.compile(r"[*?\[]")


def is_pattern(path: str) -> bool:
    return _WILD.search(path) is not None


def fixed_folder(path: str) -> str:
    """The folders before the first wildcard: where a look for it begins."""
    parts = path.split("/")
    wild = next((at for at, part in enumerate(parts) if is_pattern(part)), len(parts))
    return "/".join(parts[:wild])


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    parts = pattern.strip("/").split("/")
    said = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            said += ".*" if last else "(?:[^/]+/)*"
        else:
            said += _name(part) + ("" if last else "/")
    return re.compile(said + r"\Z", re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    return compiled(pattern).match(path) is not None


def _name(part: str) -> str:
    said, at = "", 0
    while at < len(part):
        letter = part[at]
        closing = part.find("]", at + 2) if letter == "[" else -1
        if letter == "*":
            while part[at : at + 2] == "**":
                at += 1
            said += "[^/]*"
        elif letter == "?":
            said += "[^/]"
        elif closing > 0:
            inside = part[at + 1 : closing].replace("\\", "\\\\")
            said += "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            at = closing
        else:
            said += re.escape(letter)
        at += 1
    return said
