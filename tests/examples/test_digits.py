"""The example as a reader would run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def variables(tmp_path):
    given = {**os.environ, "TRAINYARD_HOME": str(tmp_path / "home")}
    given.pop("TRAINYARD_ENDPOINT", None)
    yield given
    command = [sys.executable, "-m", "trainyard.cli.main", "stop", "--all"]
    subprocess.run(command, env=given, check=True, timeout=60)


def test_submit_trains_on_the_cluster_and_brings_the_model_back(tmp_path, variables):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "digits" / "submit.py")],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "epoch  5/5" in done.stdout
    report = json.loads((tmp_path / "downloaded" / "outputs" / "report.json").read_text())
    assert report["accuracy"] > 0.8
    assert (tmp_path / "downloaded" / "outputs" / "model.joblib").stat().st_size > 0


def test_train_runs_by_hand_too(tmp_path, variables):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "digits" / "train.py"), "--epochs", "2"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "epoch  2/2" in done.stdout
    assert not (tmp_path / "home").exists()  # nothing was started for it
