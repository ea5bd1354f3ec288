from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
START = SRC / "trainyard" / "shims" / "startup"


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., str]:
    """Runs a script as a job whose helpers are on, in a folder of its own; gives back all it wrote."""

    def run(script: str, shims: str = "auto", fails: bool = False, **more: str) -> str:
        files = {name: text for name, text in more.items() if name.islower()}
        variables = {name: value for name, value in more.items() if not name.islower()}
        for name, text in {"train": script, **files}.items():
            (tmp_path / f"{name}.py").write_text(text)
        path = os.pathsep.join([str(START), str(SRC)]) if shims else str(SRC)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "TRAINYARD_"))}
        environment = {**kept, "PYTHONPATH": path, "TRAINYARD_SHIMS": shims, "TF_CPP_MIN_LOG_LEVEL": "3", **variables}
        done = subprocess.run(
            [sys.executable, "train.py"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    return run
