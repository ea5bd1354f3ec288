"""conda packages by py-rattler (the extra `trainyard[conda]`), against the channels that a specification names."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from trainyard.contract.errors import EnvironmentRefused, IndexAway, Unsatisfied
from trainyard.environments.credentials import redacted
from trainyard.environments.names import PYPI_NAME

T = TypeVar("T")

DEFAULT_CHANNELS = ("conda-forge",)
_PROBE_S = 10.0
_HOSTS = {"defaults": "https://repo.anaconda.com/pkgs/main", "main": "https://repo.anaconda.com/pkgs/main"}
_ENTRY = re.compile(r"(?:(?P<channel>[\w.:/-]+)::)?(?P<name>[A-Za-z0-9_][\w.+-]*)\s*(?P<version>.*)")


@dataclass(frozen=True)
class Laid:
    """What was installed."""

    packages: tuple[tuple[str, str], ...]  # (address, SHA-256)
    python: str | None  # its version, where it is among them


def is_installed() -> bool:
    return importlib.util.find_spec("rattler") is not None


def reachable(channels: Iterable[str], timeout_s: float = _PROBE_S) -> list[str]:
    """The addresses of those channels that answer."""
    from concurrent.futures import ThreadPoolExecutor

    addresses = [address(channel) for channel in channels or DEFAULT_CHANNELS]
    with ThreadPoolExecutor(max(1, len(addresses))) as pool:
        answers = list(pool.map(lambda url: _answers(url, timeout_s), addresses))
    return [url for url, there in zip(addresses, answers, strict=True) if there]


def address(channel: str) -> str:
    if "://" in channel:
        return channel.rstrip("/")
    if os.path.isabs(channel):
        return "file://" + channel.rstrip("/")
    return _HOSTS.get(channel, f"https://conda.anaconda.org/{channel}")


def to_pypi(entries: Iterable[str]) -> tuple[list[str], list[str]]:
    """The same from PyPI, and those that it has under no name we know. Pure."""
    requirements, unknown = [], []
    for entry in entries:
        found = _ENTRY.fullmatch(entry)
        assert found is not None, "parse() lets no other through"
        name = found["name"].lower()
        if name not in PYPI_NAME:
            unknown.append(entry)
        elif (pypi := PYPI_NAME[name]) is not None:
            requirements.append(pypi + _pypi_version(found["version"]))
    return requirements, unknown


def install(
    specs: Iterable[str], channels: list[str], folder: str, cache: str, log: Callable[[str], None], limit_s: float
) -> Laid:
    """Solve and lay out. Unsatisfied carries the solver's own sentence."""
    import rattler
    from rattler.exceptions import SolverError

    async def work() -> Laid:
        gateway = rattler.Gateway(cache_dir=_made(os.path.join(cache, "repodata")))
        records = await rattler.solve(
            channels,
            [_match(spec) for spec in specs],
            gateway=gateway,
            virtual_packages=rattler.VirtualPackage.detect(),
        )
        for record in records:
            log(f" + {record.name.normalized}={record.version} ({redacted(str(record.url))})")
        await rattler.install(records, folder, cache_dir=_made(os.path.join(cache, "packages")), show_progress=False)
        packages = tuple((redacted(str(it.url)), it.sha256.hex() if it.sha256 else "") for it in records)
        return Laid(packages, next((str(it.version) for it in records if it.name.normalized == "python"), None))

    try:
        return _run(work(), limit_s)
    except SolverError as error:
        raise Unsatisfied(f"conda's solver: {redacted(str(error)).strip()}") from error
    except TimeoutError as error:
        raise IndexAway(
            f"The conda channels did not deliver within {limit_s:.0f} s. Check that they can be reached."
        ) from error


def install_locked(packages: Iterable[tuple[str, str]], folder: str, cache: str, limit_s: float) -> None:
    """Exactly these packages, fetched from their addresses and checked."""
    import rattler

    wanted = dict(packages)
    subdirs: dict[str, set[str]] = {}
    for url in wanted:
        channel, subdir, _ = url.rsplit("/", 2)
        subdirs.setdefault(channel, set()).add(subdir)

    async def work() -> None:
        gateway = rattler.Gateway(cache_dir=_made(os.path.join(cache, "repodata")))
        names = sorted({_package_name(url.rpartition("/")[2]) for url in wanted})
        records = []
        for channel, platforms in subdirs.items():
            pages = await gateway.query(
                [channel], [rattler.Subdir(it) for it in sorted(platforms)], names, recursive=False
            )
            records += [it for page in pages for it in page if str(it.url) in wanted]
        same = {str(it.url) for it in records if it.sha256 is None or it.sha256.hex() == wanted[str(it.url)]}
        if gone := sorted(set(wanted) - same):
            raise EnvironmentRefused(
                f"The lock names conda packages that are no more, or not the same: {', '.join(gone)}. "
                "Submit the run with its environment instead of its lock."
            )
        await rattler.install(records, folder, cache_dir=_made(os.path.join(cache, "packages")), show_progress=False)

    try:
        _run(work(), limit_s)
    except TimeoutError as error:
        raise IndexAway("The conda channels did not deliver in time. Check that they can be reached.") from error


def python_spec(specifier: str | None) -> str:
    """conda's form of a wish for Python."""
    return f"python {specifier.removeprefix('==') if specifier and ',' not in specifier else specifier or '*'}"


def _run(work: Awaitable[T], limit_s: float) -> T:
    import asyncio

    async def limited() -> T:
        return await asyncio.wait_for(work, limit_s)

    return asyncio.run(limited())


def _answers(url: str, timeout_s: float) -> bool:
    if url.startswith("file://"):
        return os.path.isdir(url.removeprefix("file://"))
    import urllib.error
    import urllib.request

    for name in ("repodata.json.zst", "repodata.json"):
        request = urllib.request.Request(f"{url}/noarch/{name}", method="HEAD")  # noqa: S310 - http(s) or file
        try:
            with urllib.request.urlopen(request, timeout=timeout_s):  # noqa: S310
                return True
        except urllib.error.HTTPError:
            continue  # it answers, but not with this file
        except (OSError, ValueError):
            return False
    return False


def _match(spec: str) -> str:
    """A conda file's `numpy=1.26` is the solver's `numpy 1.26.*`."""
    found = re.fullmatch(r"(\S+?)\s*=([^=<>!~ ]+)(?:=(\S+))?", spec)
    if found is None:
        return spec
    version = found[2] if found[2].endswith("*") else f"{found[2]}.*"
    return f"{found[1]} {version} {found[3]}" if found[3] else f"{found[1]} {version}"


def _pypi_version(version: str) -> str:
    text = version.strip().replace(" ", "")
    if not text:
        return ""
    if found := re.fullmatch(r"=?([\w.!+]+?)(?:\.\*)?(?:=[\w*.]+)?", text):
        return f"=={found[1]}.*"
    if found := re.fullmatch(r"==([\w.!+]+)(?:=[\w*.]+)?", text):
        return f"=={found[1]}"
    return text


def _package_name(file: str) -> str:
    """name-version-build.conda"""
    return file.rsplit("-", 2)[0]


def _made(folder: str) -> Path:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return Path(folder)
