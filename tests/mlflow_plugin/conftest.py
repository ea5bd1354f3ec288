"""The real mlflow package in processes of their own, against a service in a home of the test module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from trainyard.client.home import Home
from trainyard.client.http import Http
from trainyard.client.service import Service

HEAD = """\
import json, os, sys
import mlflow
from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
ws = Workspace.create("yard", exist_ok=True, show_output=False)
mlflow.set_tracking_uri(ws.get_mlflow_tracking_uri())
"""


@pytest.fixture(scope="module")
def home_variables(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("home"))
    wanted = {"TRAINYARD_HOME": path, "MLFLOW_DISABLE_TELEMETRY": "true", "GIT_PYTHON_REFRESH": "quiet"}
    yield wanted
    home = Home.default(wanted)
    if (running := home.running()) is not None:
        Service(Http(None, None, home, start=False)).stop(everything=True)
        if psutil.pid_exists(running.pid):
            psutil.Process(running.pid).wait(timeout=30)


@pytest.fixture
def told(home_variables, tmp_path: Path):
    """told(program) → what it printed last, as JSON. The program knows `ws`, with MLflow's address set."""

    def run(program: str, head: str = HEAD, **more: str):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRAINYARD", "MLFLOW"))}
        done = subprocess.run(
            [sys.executable, "-c", head + program],
            env={**kept, **home_variables, **more},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=110,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
