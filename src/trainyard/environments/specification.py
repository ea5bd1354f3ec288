"""What an environment's definition (the SDK's JSON) asks for, checked and in one order. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trainyard.contract.environments import SHIMS, SHIMS_AUTO, SHIMS_OFF
from trainyard.contract.errors import EnvironmentRefused
from trainyard.environments.names import MEANT_BY_AZUREML, MEANT_BY_EXTRA, MLFLOW_WITH_SKLEARN, normalised
from trainyard.environments.options import PipOptions, parse_option

# Versions of Python that the SDK wrote into environments whose users had named none: no wish of theirs.
PYTHONS_FILLED_IN = frozenset({"3.6.2", "3.8.13", "3.10.18"})

_KEYS = {
    "": "name version python environmentVariables docker spark inferencingStackVersion databricks r assetId",
    "python": "interpreterPath userManagedDependencies condaDependencies condaDependenciesFile baseCondaEnvironment "
    "relaxPins frameworkDefaults lock shims",
    "python.condaDependencies": "name channels dependencies prefix variables",
    "docker": "baseImage platform baseDockerfile baseImageRegistry enabled arguments sharedVolumes shmSize gpuSupport "
    "buildContext",
}
_CONDA_ENTRY = re.compile(r"(?:[\w.:/-]+::)?([A-Za-z0-9_][A-Za-z0-9_.+-]*)\s*((?:[=<>!~ ]|$)[\w.*+!=<>~|, -]*)")
_CHANNEL = re.compile(r"[\w.:/@%+~-]+")
_HASH = re.compile(r"\s+--hash[= ](\S+)")
_EDITABLE = re.compile(r"(?:-e|--editable)[ =]\s*(?=\S+://)")  # nobody edits what is built: the address counts
_URL = re.compile(r"(?:[A-Za-z0-9._-]+(?:\[[\w,.-]*\])?\s*@\s*)?(?:git\+)?(?:https?|file|ssh)://\S+")


@dataclass(frozen=True)
class Wanted:
    """One specification. Two that ask for the same are equal."""

    python: str | None = None  # a PEP 440 specifier such as "==3.8.*"; None: any
    python_filled_in: bool = False  # the SDK wrote it: the nearest is taken
    conda: tuple[str, ...] = ()  # without python and pip
    channels: tuple[str, ...] = ()  # in order: the first has priority
    requirements: tuple[str, ...] = ()
    filled_in: tuple[str, ...] = ()  # names of requirements whose versions the SDK wrote, not the user
    hashes: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (name, the only ones that its file may have)
    options: PipOptions = field(default_factory=PipOptions)
    relax: bool = False
    shims: str | None = None  # helpers for old scripts, as the environment says; None: it says nothing
    lock: str | None = None  # digest of a resolved lock to install as it is
    dropped: tuple[str, ...] = ()  # azureml-*: there already, through the overlay

    @property
    def empty(self) -> bool:
        """Nothing is asked for that a bare interpreter does not have."""
        wants_python = self.python is not None and not self.python_filled_in
        return not (self.conda or self.requirements or self.lock or wants_python)

    def addresses(self) -> tuple[str, ...]:
        """All that may hold credentials."""
        options = self.options
        indexes = (options.index_url or "", *options.extra_index_urls, *options.find_links)
        return (*self.requirements, *self.channels, *indexes)


def parse(definition: dict[str, Any], *, relax: bool = False) -> Wanted:
    """EnvironmentRefused says what is wrong with it."""
    _known_keys(definition, "")
    python = _section(definition, "python")
    _section(definition, "docker")
    conda = _section(python, "condaDependencies", "python.")
    relax = relax or bool(python.get("relaxPins", False))
    entries = conda.get("dependencies") or []
    if not isinstance(entries, list):
        raise EnvironmentRefused("python.condaDependencies.dependencies must be a list of packages. Correct it.")
    version, packages = _conda_packages([entry for entry in entries if not isinstance(entry, dict)])
    lines = [line for entry in entries if isinstance(entry, dict) for line in _pip_lines(entry)]
    options = PipOptions()
    requirements: list[str] = []
    dropped: list[str] = []
    hashes: dict[str, tuple[str, ...]] = {}
    for line in lines:
        if line.startswith("-"):
            options = parse_option(options, line)
            continue
        found, is_ours = _requirement(line)
        if (allowed := _HASH.findall(line)) and not is_ours and (name := requirement_name(found[0])):
            hashes[name] = tuple(sorted(allowed))
        requirements += found
        dropped += [line] if is_ours else []
    if "mlflow-skinny" in requirements and any(map(_is_sklearn, [*requirements, *packages])):
        requirements += MLFLOW_WITH_SKLEARN
    filled = {normalised(str(name)) for name in python.get("frameworkDefaults") or []}
    return Wanted(
        python=_python_specifier(version) if version else None,
        python_filled_in=(version or "").lstrip("=") in PYTHONS_FILLED_IN,
        conda=tuple(packages),
        channels=_channels(conda.get("channels") or []),
        requirements=tuple(sorted(set(requirements))),
        filled_in=tuple(sorted(filled)),
        hashes=tuple(sorted(hashes.items())),
        options=options,
        relax=relax,
        shims=_shims(python.get("shims")),
        lock=python.get("lock"),
        dropped=tuple(dropped),
    )


def requirement_name(line: str) -> str | None:
    """None: a bare address, whose name nobody knows before it is fetched."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return normalised(Requirement(line).name)
    except InvalidRequirement:
        return None


def _known_keys(section: dict[str, Any], path: str) -> None:
    if unknown := sorted(set(section) - set(_KEYS[path].split())):
        where = f"The environment's `{path}`" if path else "The environment"
        raise EnvironmentRefused(
            f"{where} has the unknown key(s) {', '.join(unknown)}. Known are: {', '.join(sorted(_KEYS[path].split()))}."
        )


def _section(parent: dict[str, Any], key: str, prefix: str = "") -> dict[str, Any]:
    found = parent.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise EnvironmentRefused(f"The environment's `{prefix}{key}` must be an object, not {found!r}. Correct it.")
    _known_keys(found, prefix + key)
    return found


def _shims(said: Any) -> str | None:
    if said is not None and not (isinstance(said, str) and {*said.split(",")} <= {SHIMS_AUTO, SHIMS_OFF, *SHIMS}):
        raise EnvironmentRefused(
            f"python.shims is {said!r}. Give {SHIMS_AUTO!r}, {SHIMS_OFF!r}, or some of {', '.join(SHIMS)} with commas."
        )
    return said or None


def _conda_packages(entries: Iterable[Any]) -> tuple[str | None, list[str]]:
    """The wish for Python, and the packages beside it."""
    version, packages = None, []
    for entry in entries:
        found = _CONDA_ENTRY.fullmatch(entry.strip()) if isinstance(entry, str) else None
        if found is None:
            raise EnvironmentRefused(
                f"{entry!r} is not a conda package. Write a name and perhaps a version, such as numpy=1.26."
            )
        if found[1].lower() == "python":
            version = found[2].strip() or None
        elif found[1].lower() != "pip":  # the interpreter's own installer: we install without it
            packages.append(" ".join(entry.split()))
    return version, sorted(set(packages))


def _pip_lines(entry: dict[str, Any]) -> list[str]:
    lines = entry.get("pip")
    if set(entry) != {"pip"} or not isinstance(lines, list):
        raise EnvironmentRefused(f"{entry!r} among the dependencies is not a `pip:` list. Correct the conda file.")
    stripped = [_EDITABLE.sub("", str(line).strip(), count=1) for line in lines]
    return [line for line in stripped if line and not line.startswith("#")]


def _requirement(line: str) -> tuple[list[str], bool]:
    """What to install for a line, and whether it was for one of the SDK's own packages."""
    from packaging.requirements import InvalidRequirement, Requirement  # here: who installs a lock parses nothing

    if any(character in line for character in "\n\r\0`"):
        raise EnvironmentRefused(f"{line!r} is not a pip requirement: one line each, without control characters.")
    line = _HASH.sub("", line.split(" #")[0]).strip()
    if line.startswith((".", "/", "~")):
        raise EnvironmentRefused(
            f"{line!r} is a path on the machine where it was written. Make a wheel of it (pip wheel), and name what "
            "Environment.add_private_pip_wheel(workspace, file_path) answers."
        )
    if _URL.fullmatch(line):
        return [line], False
    try:
        parsed = Requirement(line)
    except InvalidRequirement as error:
        raise EnvironmentRefused(
            f"{line!r} is not a pip requirement: {str(error).splitlines()[0]}. Write it as in numpy==1.26.4."
        ) from error
    name = normalised(parsed.name)
    if name.startswith("azureml-") or name == "azureml":
        return _meant(name, sorted(parsed.extras)), True
    parsed.name = name
    return [str(parsed)], False


def _is_sklearn(entry: str) -> bool:
    return re.match(r"scikit[-_.]learn(?![\w.-])", entry, re.IGNORECASE) is not None


def _meant(name: str, extras: Iterable[str]) -> list[str]:
    meant = list(MEANT_BY_AZUREML.get(name, ()))
    for extra in extras:
        meant += MEANT_BY_EXTRA.get((name, normalised(extra)), ())
    return meant


def _python_specifier(version: str) -> str:
    """conda's `=3.8` means any 3.8; its `==3.8.5`, `>=3.7,<3.9` and `3.8.*` read as elsewhere."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    text = version.replace(" ", "")
    if found := re.fullmatch(r"=?(\d+(?:\.\d+)*)(?:\.\*)?(?:=.*)?", text):
        text = f"=={found[1]}.*"
    try:
        return str(SpecifierSet(text))
    except InvalidSpecifier as error:
        raise EnvironmentRefused(f"python{version} names no Python version. Write it as in python=3.11.") from error


def _channels(channels: Any) -> tuple[str, ...]:
    if not isinstance(channels, list) or not all(isinstance(it, str) and _CHANNEL.fullmatch(it) for it in channels):
        raise EnvironmentRefused(f"{channels!r} is not a list of conda channels. Write names or addresses.")
    return tuple(dict.fromkeys(channels))
