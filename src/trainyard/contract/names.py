"""The rules for names, as the SDK had them, and the ids we make. Names are labels: they never become paths."""

from __future__ import annotations

import os
import re

from trainyard.contract.errors import InvalidName

_RULES = {
    "a workspace": (r"[A-Za-z0-9][\w-]{2,32}", "3 to 33 letters, digits, '-' and '_', starting with a letter or digit"),
    "an experiment": (
        r"[A-Za-z0-9][\w-]{0,254}",
        "up to 255 letters, digits, '-' and '_', starting with a letter or digit",
    ),
    "a compute target": (r"[A-Za-z][A-Za-z0-9-]{1,31}", "2 to 32 letters, digits and '-', starting with a letter"),
    "an environment": (
        r"(?!(?i:azureml))[A-Za-z0-9_][\w.-]{0,254}",
        "up to 255 letters, digits, '-', '_' and '.', and not beginning with AzureML, which is reserved",
    ),
    "a datastore": (r"[A-Za-z0-9_]{1,255}", "up to 255 letters, digits and '_'"),
    "a dataset": (
        r"[A-Za-z0-9_][\w. -]{0,254}",
        "up to 255 letters, digits, '-', '_', '.' and spaces, starting with a letter, digit or '_'",
    ),
    "an input or output": (
        r"[A-Za-z_][A-Za-z0-9_]{0,254}",
        "up to 255 letters, digits and '_', starting with a letter or '_'",
    ),
    "a model": (
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}",
        "up to 255 letters, digits, '-', '_' and '.', not beginning with one",
    ),
    "an alias": (
        r"(?!(?:latest|[0-9]+)$)[a-z0-9][a-z0-9._-]{0,63}",
        "up to 64 lower-case letters, digits, '-', '_' and '.', not a number and not 'latest', which moves by itself",
    ),
    "a service": (
        r"(?=.{3,32}$)[a-z](?:[-a-z0-9]*[a-z0-9])?",
        "3 to 32 lower-case letters, digits and '-', beginning with a letter and not ending with '-'",
    ),
    "a version of an endpoint": (
        r"(?=.{1,32}$)[a-z](?:[-a-z0-9]*[a-z0-9])?",
        "up to 32 lower-case letters, digits and '-', beginning with a letter and not ending with '-'",
    ),
    "a run": (r"[A-Za-z0-9][\w-]{0,254}", "up to 255 letters, digits, '-' and '_', starting with a letter or digit"),
}
_COMPILED = {kind: re.compile(pattern, re.ASCII) for kind, (pattern, _) in _RULES.items()}

MAX_FILE_NAME = 1024


def check_name(kind: str, name: object) -> str:
    """`name` if it follows the rule for `kind` (a key of the table above), else InvalidName."""
    if not isinstance(name, str) or not _COMPILED[kind].fullmatch(name):
        raise InvalidName(kind, name, _RULES[kind][1])
    return name


def check_file_name(name: object) -> str:
    """A run's file name, normalised ('./a//b' is 'a/b'). It is a key in a table; it may still be written below a
    folder by a download, so what would climb out of that folder is refused here, once."""
    if not isinstance(name, str):
        raise InvalidName("a file", name, "it must be text")
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts or ".." in parts or "\0" in name or len(name) > MAX_FILE_NAME or not is_text(name):
        raise InvalidName("a file", name, "a relative path of at most 1024 characters without '..'")
    return "/".join(parts)


def new_id() -> str:
    return os.urandom(16).hex()


def new_run_id(experiment: str, seconds: float) -> str:
    """Azure's form: <experiment>_<unix seconds>_<8 hex>."""
    return f"{experiment}_{int(seconds)}_{os.urandom(4).hex()}"


def is_text(name: str) -> bool:
    """A file system's name can be bytes that are no text; no table and no wire takes those."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
