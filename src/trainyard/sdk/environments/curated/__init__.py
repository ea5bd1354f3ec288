"""The curated environments: a conda file each, in this folder, named for the environment.

Those of 2021 and later came by the dozen, one for each version of a framework, of Ubuntu, Python and CUDA:
AzureML-sklearn-0.24-ubuntu18.04-py37-cpu. What differs between them cannot be had any more, so that one file stands
for each framework.
"""

from __future__ import annotations

import difflib
import os
import re

from trainyard.sdk.environments.conda_dependencies import CondaDependencies, package_name
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.environments.environment_sections import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE

PREFIX = "AzureML"
VERSION = "1"
_ENDING = ".yml"
_IMAGES = re.compile(
    r"azureml-(?:acpt-)?(lightgbm|minimal|onnxruntime|pytorch|sklearn|tensorflow|xgboost)(?:-\d[\d.]*)?"
    r"(?:-(?:ubuntu\d[\d.]*|py\d+|cuda\d[\d.]*|cpu|gpu|inference))+"
)
_FOR_IMAGES = {
    "lightgbm": "AzureML-lightgbm-3.2-ubuntu18.04-py37-cpu",
    "minimal": "AzureML-Minimal",
    "onnxruntime": "AzureML-onnxruntime-1.6-ubuntu18.04-py37-cpu-inference",
    "pytorch": "azureml-acpt-pytorch-2.2-cuda12.1",
    "sklearn": "AzureML-sklearn-1.5",
    "tensorflow": "azureml-tensorflow-2.11-cuda11",
    "xgboost": "AzureML-xgboost-0.9-ubuntu18.04-py37-cpu-inference",
}
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def is_reserved(name: str) -> bool:
    return name.lower().startswith(PREFIX.lower())


def names() -> list[str]:
    return sorted(file.removesuffix(_ENDING) for file in os.listdir(_FOLDER) if file.endswith(_ENDING))


def find(name: str) -> Environment | None:
    """The one of that name, in whatever case it is written."""
    if known := next((known for known in names() if known.lower() == name.lower()), None):
        return load(known)
    image = _IMAGES.fullmatch(name.lower())
    return load(name, _FOR_IMAGES[image[1]]) if image is not None else None


def nearest(name: str) -> list[str]:
    """Those whose names are most like it."""
    plain = {known.lower(): known for known in names()}
    return [plain[found] for found in difflib.get_close_matches(name.lower(), plain, n=3, cutoff=0)]


def load(name: str, file: str | None = None) -> Environment:
    made = Environment(name)
    made.version = VERSION
    conda = made.python.conda_dependencies = CondaDependencies(os.path.join(_FOLDER, (file or name) + _ENDING))
    # nobody pinned what we wrote: where a version cannot be had, the nearest is taken
    made.python._filled_in = tuple(line for line in conda.pip_packages if not package_name(line).startswith("azureml"))
    made.docker.base_image = DEFAULT_GPU_IMAGE if "gpu" in name.lower() or "cuda" in name.lower() else DEFAULT_CPU_IMAGE
    return made
