"""What of a source directory is left out: what its ignore file says, and what nobody wants in a snapshot.

`.amlignore` at the top decides alone where it is; without it every `.gitignore` counts for its folder, as in git. Both
are read by `pathspec`, and only when a folder's names changed since the last look. Names left out by us are the weakest
rule: an ignore file can take one back with `!name`. A folder with a `pyvenv.cfg` is a virtual environment: it works
nowhere but where it is, and no rule brings it along.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainyard.contract.attempts import JobContext
from trainyard.contract.errors import SnapshotRefused

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

AML_IGNORE = ".amlignore"
GIT_IGNORE = ".gitignore"
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"
_ALWAYS = frozenset(
    {".azureml", ".git", ".ipynb_checkpoints", ".trainyard", "__pycache__", "azureml-logs", "azureml-setup"}
)
_AT_THE_TOP = frozenset({"outputs"})  # where runs write; a folder of that name deeper down is the user's


@dataclass(frozen=True)
class Rules:
    """What counts in one folder: the ignore files above and in it, outermost first. Equal keys decide alike."""

    key: str
    files: tuple[tuple[str, str], ...] = ()  # (folder, text); a folder is "" or ends with a slash
    nested: bool = True

    @staticmethod
    def of(source: str, names: list[str], without: frozenset[str]) -> Rules:
        """For the top folder. `without` are absolute paths left out too; the walk sees to them."""
        start = Rules(_key("", *sorted(without)))
        if AML_IGNORE in names:
            return start._with("", _read(os.path.join(source, AML_IGNORE)), nested=False)
        return start.below("", source, names)

    def below(self, folder: str, path: str, names: list[str]) -> Rules:
        """For a folder with these names in it."""
        if not self.nested or GIT_IGNORE not in names:
            return self
        return self._with(folder, _read(os.path.join(path, GIT_IGNORE)), nested=True)

    def ignores(self, folder: str, name: str, is_folder: bool) -> bool:
        path = folder + name + ("/" if is_folder else "")
        for base, text in reversed(self.files):  # the innermost file that has a word on it wins
            said = _compiled(text).check_file(path[len(base) :]).include
            if said is not None:
                return said
        return name in _ALWAYS or (not folder and name in _AT_THE_TOP)

    def _with(self, folder: str, text: str, nested: bool) -> Rules:
        return Rules(_key(self.key, folder, text), (*self.files, (folder, text)), nested)


_specs: dict[str, GitIgnoreSpec] = {}


def _compiled(text: str) -> GitIgnoreSpec:
    if text not in _specs:
        _specs[text] = _git_ignore_spec().from_lines(text.splitlines())
    return _specs[text]


def _git_ignore_spec() -> type[GitIgnoreSpec]:
    """pathspec's, wherever it is. In a job it is not the user's to install: it comes last on the path, so that it never
    stands before a package of theirs."""
    try:
        from pathspec import GitIgnoreSpec
    except ModuleNotFoundError as error:
        context = JobContext.of_this_process()
        folder = context.last_on_path if context else None
        if folder is None or folder in sys.path:
            raise SnapshotRefused(
                "The source directory has an ignore file, and the package that reads it is missing here. "
                "Install it with `pip install pathspec`."
            ) from error
        sys.path.append(folder)
        return _git_ignore_spec()
    return GitIgnoreSpec


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise SnapshotRefused(f"Cannot read {path}: {error.strerror}. Make it readable, or remove it.") from error


def _key(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]
