"""The service is killed while it starts the children of a sweep: there are as many as were asked for, never one more,
and none ran twice."""

from __future__ import annotations

from collections import Counter

from stead import Stead, kill, until

from azureml.core import Experiment
from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal, RandomParameterSampling, choice

CHILDREN = 12

# Leaves a line where the test looks, with one write: two scripts at once do not mix.
SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
run.log('score', float(sys.argv[3]))
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, (run.id + '\\n').encode())
"""


def children(stead: Stead) -> int:
    return stead.rows("SELECT count(*) FROM sweep_children")[0][0]


def test_killed_again_and_again_while_children_are_started(stead: Stead) -> None:
    ran = stead.root / "ran"
    script = stead.config(SCRIPT, None, 1, [ran])
    sampling = RandomParameterSampling({"lr": choice(*range(100))})
    config = HyperDriveConfig(
        sampling, "score", PrimaryMetricGoal.MAXIMIZE, CHILDREN, max_concurrent_runs=3, run_config=script
    )
    sweep = Experiment(stead.workspace, "faults").submit(config)
    for seen in (1, 4, 7, 10):
        until(lambda seen=seen: children(stead) >= seen)
        kill(pid := stead.service_pid())
        until(lambda pid=pid: stead.home.ensure_running().pid != pid)
    assert sweep.wait_for_completion()["status"] == "Completed"
    expected = {f"{sweep.id}_{index}" for index in range(CHILDREN)}
    assert {run.id for run in sweep.get_children()} == expected
    assert {run.get_status() for run in sweep.get_children()} == {"Completed"}
    assert Counter(ran.read_text().split()) == Counter(expected)
    assert stead.rows("SELECT count(*) FROM attempts")[0][0] == CHILDREN
    log = stead.log(sweep, "azureml-logs/hyperdrive.txt").decode()
    assert [log.count(f"#{index:<4} started") for index in range(CHILDREN)] == [1] * CHILDREN
    assert sorted(child.get_metrics()["score"] for child in sweep.get_children()) == sorted(
        float(sample["lr"]) for sample in samples(sweep)
    )


def samples(sweep):
    import json

    return [json.loads(said) for said in sweep.get_hyperparameters().values()]
