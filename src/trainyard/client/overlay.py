"""What a job or a scoring process imports of ours: a copy of the job side's rooms, put on its path, so that nothing is
installed into the user's environment and a later upgrade of this installation does not change a running job."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import tempfile
from dataclasses import dataclass

import trainyard

_JOB_ROOMS = ("contract", "client", "sdk", "blobs", "shims", "scoring")
_CARRIED = (".py", ".yml")  # curated environments are files: a job that submits children may ask for one


@dataclass(frozen=True)
class Overlay:
    first: str  # first on the job's path: azureml and trainyard
    last: str  # last on it, and only for jobs that ask: pathspec


def ensure(home: str) -> Overlay:
    """The overlay of this installation in `home`, made if it is not there. Safe to call from many agents at once."""
    fingerprint = _fingerprint()
    overlay = Overlay(os.path.join(home, "overlay", fingerprint), os.path.join(home, "overlay", fingerprint + "-last"))
    for folder, files in ((overlay.last, _last_files), (overlay.first, _first_files)):
        if not os.path.isdir(folder):
            _copy(folder, files())
    return overlay


def _copy(folder: str, files: dict[str, str]) -> None:
    parent = os.path.dirname(folder)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    aside = tempfile.mkdtemp(prefix=".overlay-", dir=parent)
    for name, source in files.items():
        target = os.path.join(aside, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
    try:
        os.rename(aside, folder)
    except OSError:  # another agent was quicker
        shutil.rmtree(aside, ignore_errors=True)
        if not os.path.isdir(folder):
            raise


@functools.cache
def _fingerprint() -> str:
    seen = hashlib.sha256(trainyard.__version__.encode())
    for name, source in sorted({**_first_files(), **_last_files()}.items()):
        with open(source, "rb") as file:
            seen.update(name.encode() + b"\0" + file.read())
    return seen.hexdigest()[:16]


def _first_files() -> dict[str, str]:
    """Name below the overlay → file of this installation."""
    ours = os.path.dirname(os.path.abspath(trainyard.__file__))
    files = {"trainyard/__init__.py": os.path.join(ours, "__init__.py")}
    for room in _JOB_ROOMS:
        files |= _sources(os.path.join(ours, room), f"trainyard/{room}")
    return files | _sources(_package("azureml"), "azureml")


def _last_files() -> dict[str, str]:
    return _sources(_package("pathspec"), "pathspec")


def _package(name: str) -> str:
    """The package's folder: beside ours, else wherever it is installed."""
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(trainyard.__file__))), name)
    if os.path.isdir(beside):
        return beside
    found = importlib.util.find_spec(name)
    locations = found.submodule_search_locations if found else None
    return next(iter(locations)) if locations else beside


def _sources(folder: str, name: str) -> dict[str, str]:
    found = {}
    for at, folders, files in os.walk(folder):
        folders[:] = [child for child in folders if child != "__pycache__"]
        below = os.path.relpath(at, folder)
        prefix = name if below == "." else f"{name}/{below}"
        found.update({f"{prefix}/{file}": os.path.join(at, file) for file in files if file.endswith(_CARRIED)})
    return found
