"""The curated environments: a conda file each, in this folder, named for the environment."""

from __future__ import annotations

import difflib
import os

from trainyard.sdk.environments.conda_dependencies import CondaDependencies, package_name
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.environments.environment_sections import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE

PREFIX = "AzureML"
VERSION = "1"
_ENDING = ".yml"
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def is_reserved(name: str) -> bool:
    return name.lower().startswith(PREFIX.lower())


def names() -> list[str]:
    return sorted(file.removesuffix(_ENDING) for file in os.listdir(_FOLDER) if file.endswith(_ENDING))


def find(name: str) -> Environment | None:
    """The one of that name, in whatever case it is written."""
    return next((load(known) for known in names() if known.lower() == name.lower()), None)


def nearest(name: str) -> list[str]:
    """Those whose names are most like it."""
    plain = {known.lower(): known for known in names()}
    return [plain[found] for found in difflib.get_close_matches(name.lower(), plain, n=3, cutoff=0)]


def load(name: str) -> Environment:
    made = Environment(name)
    made.version = VERSION
    conda = made.python.conda_dependencies = CondaDependencies(os.path.join(_FOLDER, name + _ENDING))
    # nobody pinned what we wrote: where a version cannot be had, the nearest is taken
    made.python._filled_in = tuple(line for line in conda.pip_packages if not package_name(line).startswith("azureml"))
    made.docker.base_image = DEFAULT_GPU_IMAGE if "gpu" in name.lower() or "cuda" in name.lower() else DEFAULT_CPU_IMAGE
    return made
