"""The service is killed while it starts the children of a sweep: there are as many as were asked for, never one more,
and none ran twice."""

from __future__ import annotations

import json
import random
import time
from collections import Counter

from stead import Stead, kill, until

from azureml.core import Experiment
from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal, RandomParameterSampling, choice

CHILDREN = 12
KILLS = 5

# Leaves a line where the test looks, with one write: two scripts at once do not mix.
SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
run.log('score', float(sys.argv[3]))
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, (run.id + '\\n').encode())
"""


def test_killed_again_and_again_at_moments_that_nobody_chose(stead: Stead) -> None:
    ran = stead.root / "ran"
    script = stead.config(SCRIPT, None, 1, [ran])
    sampling = RandomParameterSampling({"lr": choice(*range(100))})
    config = HyperDriveConfig(
        sampling, "score", PrimaryMetricGoal.MAXIMIZE, CHILDREN, max_concurrent_runs=3, run_config=script
    )
    sweep = Experiment(stead.workspace, "faults").submit(config)
    moments = random.Random(8)
    for _ in range(KILLS):
        kill(pid := stead.service_pid())
        until(lambda pid=pid: stead.home.ensure_running().pid != pid)
        time.sleep(moments.uniform(0, 0.3))  # somewhere in the middle of whatever it does now
    assert sweep.wait_for_completion()["status"] == "Completed"
    expected = {f"{sweep.id}_{index}" for index in range(CHILDREN)}
    assert {run.id for run in sweep.get_children()} == expected
    assert {run.get_status() for run in sweep.get_children()} == {"Completed"}
    assert Counter(ran.read_text().split()) == Counter(expected)
    assert stead.rows("SELECT count(*) FROM attempts")[0][0] == CHILDREN
    log = stead.log(sweep, "azureml-logs/hyperdrive.txt").decode()
    assert [log.count(f"#{index:<4} started") for index in range(CHILDREN)] == [1] * CHILDREN
    assert [log.count(f"#{index:<4} Completed") for index in range(CHILDREN)] == [1] * CHILDREN
    samples = {run_id: json.loads(said) for run_id, said in sweep.get_hyperparameters().items()}
    assert {child.id: child.get_metrics()["score"] for child in sweep.get_children()} == {
        run_id: float(sample["lr"]) for run_id, sample in samples.items()
    }
