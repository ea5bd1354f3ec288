"""The TensorFlow estimator with the TensorFlow that can be had today, as a reader would run the example."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUBMIT = Path(__file__).parents[2] / "examples" / "digits_tensorflow" / "submit.py"


@pytest.fixture
def variables(tmp_path):
    given = {**os.environ, "TRAINYARD_HOME": str(tmp_path / "home")}
    given.pop("TRAINYARD_ENDPOINT", None)
    yield given
    command = [sys.executable, "-m", "trainyard.cli.main", "stop", "--all"]
    subprocess.run(command, env=given, check=True, timeout=60)


def submit(tmp_path, variables):
    done = subprocess.run(
        [sys.executable, str(SUBMIT)], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    return done.stdout


@pytest.mark.timeout(900)  # the first build on a machine fetches TensorFlow
def test_the_estimator_brings_tensorflow_and_a_second_submit_finds_it_there(tmp_path, variables):
    first = submit(tmp_path, variables)
    assert "Streaming azureml-logs/20_image_build_log.txt" in first
    assert "tensorflow-gpu==1.13.1 cannot be had for Python" in first
    assert "epoch  5/5" in first
    report = json.loads((tmp_path / "downloaded" / "outputs" / "report.json").read_text())
    assert report["accuracy"] > 0.8
    assert report["tensorflow"].startswith("2.")
    assert 'ACI service creation operation finished, operation "Succeeded"' in first
    scores = json.loads(first.rpartition("an empty image is read as ")[2])
    assert len(scores) == 10
    assert abs(sum(scores) - 1) < 1e-3
    second = submit(tmp_path, variables)
    assert "epoch  5/5" in second
    assert "20_image_build_log.txt" not in second
