"""A pip requirements file as a list of requirements and options: what an environment's definition can carry."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from trainyard.sdk.errors import UserErrorException

_OTHER_FILE = re.compile(r"(-r|--requirement|-c|--constraint)(?:\s+|=|(?=[^\s=-]))(\S.*)")
_COMMENT = re.compile(r"(^|\s+)#.*$")


def requirements_of(path: str) -> list[str]:
    """Its lines, with those of the files that it names by -r in their place."""
    path = os.path.abspath(os.path.expanduser(os.fspath(path)))
    return inlined(_lines(_text(path)), path)


def inlined(lines: Iterable[str], path: str, readers: tuple[str, ...] = ()) -> list[str]:
    """The lines of the file `path`, without -r; files are named from where it is."""
    if path in readers:
        raise UserErrorException(f"The requirements {path} read themselves by -r. Take that line out.")
    found: list[str] = []
    for line in lines:
        other = _OTHER_FILE.fullmatch(line.strip())
        if other is None or "://" in other[2]:
            found.append(line)
            continue
        named = os.path.normpath(os.path.join(os.path.dirname(path), os.path.expanduser(other[2])))
        if other[1] in ("-r", "--requirement"):
            found += inlined(_lines(_text(named)), named, (*readers, path))
        else:
            found.append(f"--constraint {named}")
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        raise UserErrorException(
            f"Cannot read the requirements {path}: {error.strerror}. Check the path.", error
        ) from error
    except UnicodeDecodeError as error:
        raise UserErrorException(f"The requirements {path} are not text in UTF-8. Save them as such.", error) from error


def _lines(text: str) -> list[str]:
    whole = re.sub(r"\s*\\\n\s*", " ", text.replace("\r\n", "\n"))  # a line goes on after a backslash
    lines = (_COMMENT.sub("", line).strip() for line in whole.split("\n"))
    return [line for line in lines if line]
