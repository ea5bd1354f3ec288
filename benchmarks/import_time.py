"""What `import azureml.core` adds to the start of an interpreter."""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

from measure import Row, show, side_by_side

BUDGET_MS = 80
LINES = ("from azureml.core import Workspace, Experiment, Run, ScriptRunConfig", "import azureml.core")
PEERS = ("mlflow", "ray", "wandb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    if importlib.util.find_spec("azureml") is None or importlib.util.find_spec("azureml.core") is None:
        print("azureml.core is not there yet: nothing to measure.")
        return
    lines = ["pass", *LINES, "import json, http.client", *(f"import {peer}" for peer in PEERS if _there(peer))]
    with tempfile.TemporaryDirectory(prefix="import-benchmark-") as folder:
        # as an installed package has it: compiled once, whatever this shell says about writing that down
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        variables["PYTHONPYCACHEPREFIX"] = folder
        starts = [_starting(line, variables) for line in lines]
        side_by_side(1, *starts)
        times = side_by_side(given.rounds, *starts)
    bare, *rest = [statistics.median(taken) * 1e3 for taken in times]
    rows = [Row("a bare interpreter", bare)]
    for line, taken in zip(lines[1:], rest, strict=True):
        rows.append(Row(line, taken - bare, bare, "ms", BUDGET_MS if line in LINES else None, "the bare start"))
    show("imports: what they add", rows)
    for peer in PEERS:
        if not _there(peer):
            print(f"{peer} is not installed; left out.")


def _starting(line: str, variables: dict[str, str]) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", line], check=True, env=variables)


def _there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


if __name__ == "__main__":
    main()
