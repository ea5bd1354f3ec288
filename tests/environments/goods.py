"""Packages made by hand in a folder: wheels for uv, and a conda channel. No network, no build."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from trainyard.environments.request import Request

Ask = Callable[..., Request]  # ask(*requirements, relax=False, **python), the fixture


def wheel(
    folder: Path, name: str, version: str, requires: Iterable[str] = (), tag: str = "py3-none-any", text: str = ""
) -> Path:
    """A wheel with one module that knows its version."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    files = {
        f"{module}.py": f"__version__ = {version!r}\n{text}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in files.items())
    path = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, data in {**files, f"{info}/RECORD": record + f"{info}/RECORD,,\n"}.items():
            archive.writestr(inside, data)
    return path


def broken_source(folder: Path, name: str, version: str) -> Path:
    """A source distribution that says what it is and does not build."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}.tar.gz"
    project = '[build-system]\nrequires = []\nbuild-backend = "broken"\nbackend-path = ["."]\n'
    files = {
        "pyproject.toml": project + f'[project]\nname = "{name}"\nversion = "{version}"\n',
        "PKG-INFO": f"Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n",
        "broken.py": "raise SystemExit('this compiler does not exist')\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for inside, data in files.items():
            _add(archive, f"{name}-{version}/{inside}", data.encode())
    return path


def conda_package(
    channel: Path, name: str, version: str, files: dict[str, str], depends: Iterable[str] = (), **index: Any
) -> None:
    """A package of a channel of ours, and the channel's list of packages with it."""
    python = index.get("noarch") == "python"
    subdir = channel / ("noarch" if index.get("noarch") else "linux-64")
    for folder in (channel / "noarch", channel / "linux-64"):
        folder.mkdir(parents=True, exist_ok=True)
    about = {"name": name, "version": version, "build": "0", "build_number": 0, "depends": list(depends), **index}
    listed = [
        {"_path": path, "path_type": "hardlink", "sha256": hashlib.sha256(data.encode()).hexdigest()}
        | {"size_in_bytes": len(data)}
        for path, data in files.items()
    ]
    inside = {
        "info/index.json": json.dumps({**about, "subdir": subdir.name}),
        "info/paths.json": json.dumps({"paths": listed, "paths_version": 1}),
        "info/about.json": "{}",
        **(
            {"info/link.json": json.dumps({"noarch": {"type": "python"}, "package_metadata_version": 1})}
            if python
            else {}
        ),
        **files,
    }
    path = subdir / f"{name}-{version}-0.tar.bz2"
    with tarfile.open(path, "w:bz2") as archive:
        for file, data in inside.items():
            _add(archive, file, data.encode(), 0o755 if file.startswith("bin/") else 0o644)
    data = path.read_bytes()
    record = {**about, "subdir": subdir.name, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    for folder in (channel / "noarch", channel / "linux-64"):
        listing = folder / "repodata.json"
        known = json.loads(listing.read_text()) if listing.exists() else _no_packages(folder.name)
        if folder == subdir:
            known["packages"][path.name] = record
        listing.write_text(json.dumps(known))


def definition(
    pip: Iterable[str] = (), conda: Iterable[str] = (), channels: Iterable[str] = (), **python: Any
) -> dict[str, Any]:
    """The SDK's JSON of an environment."""
    packages = {"name": "project_environment", "channels": list(channels)}
    packages["dependencies"] = [*conda, {"pip": list(pip)}] if pip else list(conda)
    return {"name": "mine", "version": None, "python": {"condaDependencies": packages, **python}}


def _no_packages(subdir: str) -> dict[str, Any]:
    return {"info": {"subdir": subdir}, "packages": {}, "packages.conda": {}, "repodata_version": 1}


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    archive.addfile(member, io.BytesIO(data))


def _digest(data: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data.encode()).digest()).decode().rstrip("=")
