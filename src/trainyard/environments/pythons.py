"""The interpreters of this machine, and which of them a wish gets."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trainyard.environments.request import Interpreter
from trainyard.environments.specification import Wanted

OVERLAY_NEEDS = Version("3.11")  # what `import azureml` needs inside a job
_NAME = re.compile(r"python3\.\d+")
_PLACES = (
    "~/.pyenv/versions/*/bin",
    "~/.local/share/uv/python/*/bin",
    "~/miniconda3/bin",
    "~/anaconda3/bin",
    "~/miniconda3/envs/*/bin",
    "/opt/conda/bin",
    "/opt/python*/bin",
    "/usr/local/bin",
    "/usr/bin",
)
_ASK = "import platform, sys; print(platform.python_implementation(), platform.python_version())"


@dataclass(frozen=True)
class Choice:
    interpreter: Interpreter
    notes: tuple[str, ...] = ()  # sentences for the run's warnings
    log: tuple[str, ...] = ()  # sentences for the log alone


def ours() -> Interpreter:
    """The one that Trainyard itself runs on, without its packages."""
    base = os.path.abspath(getattr(sys, "_base_executable", None) or sys.executable)
    return Interpreter(base, ".".join(map(str, sys.version_info[:3])))


def choose(wanted: Wanted, installed: Iterable[Interpreter]) -> Choice | None:
    """The interpreter for a wish, our own before others; None: there is none that would do. Pure."""
    installed = list(installed)
    if wanted.python is None:
        return Choice(installed[0])
    specifier = SpecifierSet(wanted.python)
    if wanted.python_filled_in:
        usable = [it for it in installed if Version(it.version) >= OVERLAY_NEEDS] or installed
        return Choice(
            usable[0],
            log=(f"python{wanted.python} is the SDK's default and not a pin: Python {usable[0].version} is taken.",),
        )
    fitting = [it for it in installed if specifier.contains(it.version, prereleases=True)]
    if fitting and not (wanted.relax and _too_old(fitting[0])):
        return Choice(fitting[0], _too_old(fitting[0]))
    if found := re.fullmatch(r"==(\d+\.\d+)\.\d+(?:\.\*)?", wanted.python):
        # patch releases differ in repairs only: the same minor version is the same Python
        near = [it for it in installed if SpecifierSet(f"=={found[1]}.*").contains(it.version)]
        if near and not (wanted.relax and _too_old(near[0])):
            note = f"python{wanted.python} is not installed here; Python {near[0].version} was taken."
            return Choice(near[0], (note, *_too_old(near[0])))
    if wanted.relax:
        usable = [it for it in installed if Version(it.version) >= OVERLAY_NEEDS] or installed
        taken = min(usable, key=lambda it: (_distance(it, wanted.python or ""), usable.index(it)))
        why = f"is too old for `import azureml`, which needs {OVERLAY_NEEDS}" if fitting else "is not installed here"
        return Choice(taken, (f"python{wanted.python} {why}; Python {taken.version} was taken.",))
    return None


def installed(variables: Mapping[str, str], memory: str) -> list[Interpreter]:
    """Our own first, then the others, newest first. `memory` is a file that remembers what was asked before: asking an
    interpreter takes longer than everything else here."""
    first = ours()
    known = _recall(memory)
    found: dict[str, Interpreter] = {os.path.realpath(first.path): first}
    asked: dict[str, list[str]] = {}
    for path in _candidates(variables):
        real = os.path.realpath(path)
        if real in found:
            continue
        mark = _mark(real)
        version = known[real][1] if real in known and known[real][0] == mark else _ask(path)
        asked[real] = [mark, version]
        if version:
            found[real] = Interpreter(path, version)
    if asked != known:
        _remember(memory, asked)
    others = sorted(list(found.values())[1:], key=lambda it: Version(it.version), reverse=True)
    return [first, *others]


def _too_old(taken: Interpreter) -> tuple[str, ...]:
    if Version(taken.version) >= OVERLAY_NEEDS:
        return ()
    note = (
        f"Python {taken.version} runs the script as asked; `import azureml` inside it needs Python {OVERLAY_NEEDS} or "
        "later. Name a newer Python if the script uses the run."
    )
    return (note,)


def _distance(interpreter: Interpreter, specifier: str) -> int:
    named = re.search(r"3\.(\d+)", specifier)
    return abs(interpreter.minor[1] - int(named[1])) if named else 0


def _candidates(variables: Mapping[str, str]) -> list[str]:
    folders = [folder for folder in variables.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    for place in _PLACES:
        folders += sorted(glob.glob(os.path.expanduser(place)))
    found = []
    for folder in dict.fromkeys(folders):
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(folder) if _NAME.fullmatch(name)]
            found += [path for name in sorted(names) if _is_program(path := os.path.join(folder, name))]
    return found


def _is_program(path: str) -> bool:
    """Not a script: those of version managers stand in for an interpreter that may not be there."""
    if not os.access(path, os.X_OK) or os.path.exists(os.path.join(os.path.dirname(path), "..", "pyvenv.cfg")):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(2) != b"#!"
    except OSError:
        return False


def _ask(path: str) -> str:
    try:
        done = subprocess.run([path, "-I", "-S", "-c", _ASK], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    implementation, _, version = done.stdout.strip().partition(" ")
    return version if implementation == "CPython" else ""


def _mark(path: str) -> str:
    try:
        about = os.stat(path)
    except OSError:
        return ""
    return f"{about.st_mtime_ns}-{about.st_size}"


def _recall(memory: str) -> dict[str, list[str]]:
    try:
        with open(memory, encoding="utf-8") as file:
            said = json.load(file)
        return {str(path): [str(mark), str(version)] for path, (mark, version) in said.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _remember(memory: str, asked: dict[str, list[str]]) -> None:
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(memory), mode=0o700, exist_ok=True)
        with open(f"{memory}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump(asked, file)
        os.replace(file.name, memory)
