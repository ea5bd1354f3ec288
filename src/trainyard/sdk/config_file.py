"""config.json: where it is looked for, what it must hold, and how it is written."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

from trainyard.sdk.errors import AzureMLException, UserErrorException

_FOLDERS = (".azureml", "aml_config", "")
_NAMES = ("config.json", "project.json")
_LEVELS = 20
_SCOPE = re.compile(r"/subscriptions/([^/]+)/resourceGroups/([^/]+)/.*?/workspaces/([^/]+)", re.IGNORECASE)
_KEYS = ("subscription_id", "resource_group", "workspace_name")


@dataclass(frozen=True)
class ConfigFile:
    path: str
    subscription_id: str
    resource_group: str
    workspace_name: str
    endpoint: str | None = None


def find_config(path: str | None, file_name: str | None = None) -> str:
    """The file that Workspace.from_config reads: `path` itself, or the first found walking up from it. `file_name`:
    the only one that it may be called.

    The whole way up is walked for `.azureml/config.json`, then again for each further name: a file in a folder of
    its own counts before a bare one nearer by, as in the SDK.
    """
    start = os.path.realpath(os.path.expanduser(path or "."))
    if os.path.isfile(start):
        return start
    for folder in _FOLDERS:
        for name in (file_name,) if file_name else _NAMES:
            if found := _walk_up(start, os.path.join(folder, name)):
                return found
    raise UserErrorException(
        f"No {file_name or 'config.json'} was found in {start} or in a folder above it (also looked for in .azureml/ "
        "and aml_config/). Give from_config(path=...) the file, or make one: Workspace.create(name='my-workspace', "
        "exist_ok=True).write_config()."
    )


def read_config(path: str) -> ConfigFile:
    """What a config.json (or a project.json of old) says."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            said = json.load(file)
    except (OSError, ValueError) as error:
        raise UserErrorException(f"{path} is not a readable JSON file: {error}. {_fix(path)}", error) from error
    if not isinstance(said, dict):
        raise UserErrorException(f"{path} must hold a JSON object. {_fix(path)}")
    if scope := _SCOPE.match(str(said.get("Scope", ""))):
        said = {**dict(zip(_KEYS, scope.groups(), strict=True)), **said}
    missing = [key for key in _KEYS if not isinstance(said.get(key), str)]
    if missing or not said["workspace_name"]:
        lacks = ", ".join(missing or ["workspace_name"])
        raise UserErrorException(f"{path} lacks {lacks}. {_fix(path)}")
    endpoint = said.get("endpoint")
    if endpoint is not None and not isinstance(endpoint, str):
        raise UserErrorException(f"{path}: endpoint must be an address such as http://host:port. {_fix(path)}")
    return ConfigFile(path, said["subscription_id"], said["resource_group"], said["workspace_name"], endpoint)


def write_config(config: ConfigFile, folder: str | None, file_name: str | None) -> str:
    """Writes below `folder`: in aml_config when it is there, else in .azureml. Answers the file's path."""
    base = os.path.abspath(os.path.expanduser(folder or "."))
    if os.path.isfile(base):
        raise UserErrorException(f"{base} is a file. Give write_config(path=...) a folder.")
    below = os.path.join(base, "aml_config")
    if not os.path.isdir(below):
        below = os.path.join(base, ".azureml")
    os.makedirs(below, exist_ok=True)
    path = os.path.join(below, file_name or "config.json")
    said = {
        "subscription_id": config.subscription_id,
        "resource_group": config.resource_group,
        "workspace_name": config.workspace_name,
    }
    if config.endpoint:
        said["endpoint"] = config.endpoint
    with open(path, "w", encoding="utf-8") as file:
        json.dump(said, file, indent=4)
    return path


def about(said: ConfigFile, error: AzureMLException) -> AzureMLException:
    """The same exception, naming the config.json that led to it."""
    return type(error)(
        f"{error.message} (The workspace and its endpoint come from {said.path}.)", error.inner_exception
    )


def not_there(said: ConfigFile, url: str) -> str:
    """What to do about a workspace that the service does not have: Workspace.create alone would make it here."""
    return (
        f"{url} has no workspace {said.workspace_name!r} that {said.path} names. Make it there: set "
        f"TRAINYARD_ENDPOINT={url} and call Workspace.create(name={said.workspace_name!r}, "
        f"subscription_id={said.subscription_id!r}, resource_group={said.resource_group!r})."
    )


def _walk_up(start: str, name: str) -> str | None:
    folder = start
    for _ in range(_LEVELS):
        candidate = os.path.join(folder, name)
        if os.path.isfile(candidate):
            return candidate
        if (parent := os.path.dirname(folder)) == folder:
            return None
        folder = parent
    return None


def _fix(path: str) -> str:
    return (
        'It must look like {"subscription_id": "...", "resource_group": "...", "workspace_name": "..."}: '
        f"correct {os.path.basename(path)}, or write it anew with ws.write_config()."
    )
