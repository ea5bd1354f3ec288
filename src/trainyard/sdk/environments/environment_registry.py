"""Environments that a workspace keeps: its own, registered with versions, and the curated ones that come with us."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from trainyard.contract.environments import EnvironmentRecord
from trainyard.sdk.environments import curated
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import AzureMLException, UserErrorException, code_of

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

LATEST = "latest"
_UNKNOWN = "environment.unknown"


def get(workspace: Workspace, name: str, version: str | int | None, label: str | None) -> Environment:
    if not isinstance(name, str) or not name.strip():
        raise UserErrorException("Environment.get needs a name: Environment.get(workspace, 'my-environment').")
    if version is not None and label is not None:
        raise UserErrorException("Give Environment.get a version or a label, not both.")
    if curated.is_reserved(name):
        return _curated(name, version)
    try:
        if label is not None and label.lower() != LATEST:
            return _of(_labelled(workspace, name, label))
        return _of(workspace._clients.environments.get(name, None if version is None else str(version)))
    except AzureMLException as error:
        if code_of(error) != _UNKNOWN:
            raise
        raise Exception(error.message) from error  # a bare one, as the SDK's callers expect


def find_all(workspace: Workspace) -> dict[str, Environment]:
    registered = [_of(record) for record in workspace._clients.environments.list()]
    return {made.name: made for made in [*registered, *map(curated.load, curated.names())]}


def register(workspace: Workspace, environment: Environment) -> Environment:
    if curated.is_reserved(environment.name):
        raise UserErrorException(
            f"{environment.name!r} cannot be registered: names that begin with {curated.PREFIX} are those of curated "
            f"environments. Register a copy under another name: env.clone('my-environment').register(workspace)."
        )
    return _of(workspace._clients.environments.register(environment.to_definition()))


def set_labels(workspace: Workspace, name: str, version: str | int, labels: Iterable[str]) -> None:
    labels = [labels] if isinstance(labels, str) else list(labels)
    if any(label.lower() == LATEST for label in labels):
        raise UserErrorException("The label 'latest' is on the newest version by itself. Choose another.")
    workspace._clients.environments.label(name, str(version), labels)


def add_wheel(workspace: Workspace, file_path: str, exist_ok: bool) -> str:
    """Beside the service, so that builds find it. The folder is named for the content: a build is never taken for
    that of another wheel of the same name."""
    name = os.path.basename(file_path)
    if not name.endswith(".whl") or not os.path.isfile(file_path):
        raise UserErrorException(f"{file_path} is not a wheel on this machine. Give the path of a .whl file.")
    home = workspace._connection.http.home
    if home is None:
        raise UserErrorException(
            "A wheel can be kept by the service of this machine only. Put it where the service's machine can read it, "
            "and name its address in add_pip_package."
        )
    shelf = home.file("wheels", workspace._workspace_id_internal)
    with open(file_path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    there = [folder for folder in _folders(shelf) if os.path.exists(os.path.join(shelf, folder, name))]
    if there and not exist_ok:
        raise UserErrorException(f"The workspace has a wheel {name} already. Pass exist_ok=True to use yours.")
    kept = os.path.join(shelf, digest[:16], name)
    if not os.path.exists(kept):
        os.makedirs(os.path.dirname(kept), mode=0o700, exist_ok=True)
        shutil.copyfile(file_path, f"{kept}.part")
        os.replace(f"{kept}.part", kept)
    return "file://" + quote(kept)


def _curated(name: str, version: str | int | None) -> Environment:
    found = curated.find(name)
    if found is None:
        raise Exception(
            f"No curated environment {name!r}. The nearest there are: {', '.join(curated.nearest(name))}. "
            "Environment.list(workspace) shows all of them with yours."
        )
    if version is not None and str(version) != found.version:
        raise Exception(
            f"No version {version!r} of the curated environment {name!r}: there is version {found.version} alone."
        )
    return found


def _labelled(workspace: Workspace, name: str, label: str) -> EnvironmentRecord:
    versions = workspace._clients.environments.versions(name)
    for record in versions:
        if label in record.labels:
            return record
    known = sorted({known for record in versions for known in record.labels})
    raise Exception(
        f"No version of environment {name!r} has the label {label!r} (labels there are: {', '.join(known) or 'none'}). "
        "Environment.label(workspace, name, version, labels) gives one."
    )


def _of(record: EnvironmentRecord) -> Environment:
    return Environment.from_definition({**record.definition, "name": record.name, "version": record.version})


def _folders(path: str) -> list[str]:
    return os.listdir(path) if os.path.isdir(path) else []
