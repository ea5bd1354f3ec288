"""Versions that cannot be had: which one is nearest, what to say about it. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_version, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from trainyard.environments.names import WITH_GPU, WITHOUT_GPU, normalised

_MOST_SAID = 600
SWITCH = "set TRAINYARD_RELAX_PINS=1 or environment.python.relax_pins = True"
GIVE_WAY = f"If a version that is named may give way, {SWITCH}."


@dataclass(frozen=True)
class Available:
    """The nearest thing that can be had for a pin."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


@dataclass(frozen=True)
class Lacking:
    """A pin that cannot be had."""

    requirement: str
    nearest: Available | None
    filled_in: bool  # the SDK wrote the version, not the user

    @property
    def is_too_old(self) -> bool:
        """What there is, is newer."""
        asked = pinned(self.requirement)
        return bool(self.nearest and asked and _order(self.nearest.version) > _order(version_named(asked)))


def pinned(requirement: str) -> Requirement | None:
    """The requirement if it names versions; None: it takes any, or is an address."""
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return None
    return parsed if parsed.specifier and not parsed.url else None


def without_build(version: str) -> str:
    """1.0 of 1.0+cu130: nothing is older or newer than a build, and an order knows versions alone."""
    return version.partition("+")[0]


def of_foreign_wheel(line: str, python: str) -> str | None:
    """What is at the address of a wheel for other Pythons, as a pin; None for all else."""
    _, found, address = line.rpartition("://")
    if not found:
        return None
    try:
        name, version, _, tags = parse_wheel_filename(unquote(urlsplit(f"https://{address}").path.rpartition("/")[2]))
    except InvalidWheelFilename:
        return None
    fits = any(_fits(tag, python) for tag in tags)
    return None if fits else f"{name}=={version.public}"


def _fits(tag: Tag, python: str) -> bool:
    major, minor = map(int, python.split(".")[:2])
    found = re.fullmatch(r"(py|cp)(\d)(\d*)", tag.interpreter)
    if found is None or int(found[2]) != major:
        return False
    if found[1] == "py" or tag.abi == "abi3":
        return int(found[3] or 0) <= minor
    return int(found[3] or minor) == minor


def version_named(requirement: Requirement) -> str:
    """The version that its specifiers turn around: the highest they name."""
    named = [spec.version.removesuffix(".*") for spec in requirement.specifier]
    return max(named, key=_order)


def without_versions(requirement: str) -> str:
    parsed = Requirement(requirement)
    extras = f"[{','.join(sorted(parsed.extras))}]" if parsed.extras else ""
    marker = f"; {parsed.marker}" if parsed.marker else ""
    return f"{parsed.name}{extras}{marker}"


def nearest(wanted: str, below: str | None, above: str | None) -> str | None:
    """Of the next version below and above, the one that shares more of its number with `wanted`; the newer one if both
    share as much: what is missing is most often too old."""
    if below is None or above is None:
        return above or below
    return below if _shared(wanted, below) > _shared(wanted, above) else above


def alternatives(name: str, gpu: bool) -> tuple[str, ...]:
    """What stands in for a GPU package on this machine."""
    return (WITH_GPU if gpu else WITHOUT_GPU).get(normalised(name), ())


def at_least(requirement: str) -> str | None:
    """Its version, or the highest it allows, or a newer one; None: it names no single version."""
    parsed = pinned(requirement)
    exact = [spec.version for spec in parsed.specifier if spec.operator in ("==", "===", "~=", "<=")] if parsed else []
    if parsed is None or len(exact) != 1:
        return None
    parsed.specifier = SpecifierSet(f">={without_build(exact[0].removesuffix('.*'))}")
    return str(parsed)


def renamed(requirement: str, name: str) -> str:
    parsed = Requirement(requirement)
    parsed.name = name
    return str(parsed)


def refusal(lacking: Iterable[Lacking], python: str, solver: str = "") -> str:
    """Names each pin, the nearest version there is, and the switch."""
    pins = list(lacking)
    parts = []
    for pin in pins:
        have = f"the nearest there is: {pin.nearest}" if pin.nearest else "there is nothing of that name for it"
        parts.append(f"{pin.requirement} ({have})")
    near = f", or take the nearest: {SWITCH}" if any(pin.nearest for pin in pins) else ""
    named = "version(s)" if all(pin.nearest for pin in pins) else "name(s) and version(s)"
    said = f" The solver said: {_in_short(solver)}" if solver else ""
    return f"Not available for Python {python}: {'; '.join(parts)}. Change the {named}{near}.{said}"


def replacements(asked: Iterable[tuple[str, str]], lock: str, python: str) -> list[str]:
    """A sentence for each requirement (as asked, and under the name it was looked for) that got another version."""
    versions = versions_in(lock)
    said = []
    for original, now in asked:
        was, name = pinned(original), normalised(Requirement(now).name)
        got = versions.get(name)
        if got is None:
            continue
        same_name = normalised(Requirement(original).name) == name
        if same_name and (was is None or was.specifier.contains(got, prereleases=True)):
            continue
        said.append(f"{original} cannot be had for Python {python}: {name}=={got} was installed instead.")
    return said


def versions_in(lock: str) -> dict[str, str]:
    """Name → version of a lock's lines."""
    found = re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", lock, re.M)
    return {normalised(name): version for name, version in found}


def without(lock: str, names: Container[str]) -> str:
    """A lock's lines but those of `names`."""
    parts = re.split(r"^(?=\S)", lock, flags=re.M)
    return "".join(part for part in parts if next(iter(versions_in(part)), None) not in names)


def _in_short(said: str) -> str:
    """Of sources that do not build, the whole output of their builder comes along: its beginning and its last error."""
    if len(said) <= _MOST_SAID:
        return said
    error = [found[0] for found in re.finditer(r"\b[A-Z]\w*(?:Error|Exception): .{1,120}", said)][-1:]
    return " … ".join([said[: _MOST_SAID // 2].rsplit(" ", 1)[0], *error, "The build log has it all."])


def _order(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")


def _shared(one: str, other: str) -> int:
    """How many leading numbers two versions have in common."""
    count = 0
    for left, right in zip(canonicalize_version(one).split("."), canonicalize_version(other).split("."), strict=False):
        if left != right:
            break
        count += 1
    return count
