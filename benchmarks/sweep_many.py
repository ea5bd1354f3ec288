"""A sweep of 200 children of a trivial script on two nodes, to its end. Beside it Optuna with `n_jobs=2`, whose
objective starts the script as a process, as a sweep does, and Ray Tune where an interpreter has it: `--python
/tmp/ray/bin/python` after `pip install "ray[tune]"` there.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time

from measure import Row, show
from scratch import PYTHON, Scratch, scratch

from azureml.core import Environment, Experiment, ScriptRunConfig
from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal, RandomParameterSampling, uniform

NODES = 2
# What a child of a sweep has to do at the least: read its sample, and say how good it was.
OURS = """
import sys
from azureml.core import Run
run = Run.get_context()
run.log("score", float(sys.argv[2]))
"""
BARE = "import sys\nprint(float(sys.argv[2]))\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("children", type=int, nargs="?", default=200)
    parser.add_argument("--python", help="an interpreter that has ray[tune]")
    given = parser.parse_args()
    many: int = given.children
    with scratch(NODES) as yard:
        peers = {f"Optuna, n_jobs={NODES}, a process each": _optuna(yard.script("bare", BARE), many)}
        child = yard.script("child", OURS)
        peers["as many plain runs"] = _plain(yard, child, many)
        ours = _sweep(yard, child, many)
    if given.python or importlib.util.find_spec("ray"):
        peers["Ray Tune, started"] = _ray(given.python or sys.executable, many)
    else:
        print("Ray Tune: left out (not installed; --python says where it is)")
    show(
        f"{many} children of a trivial script, {NODES} at once, from the first to the last",
        [Row("per child", ours / many * 1e3, peer / many * 1e3, over=over) for over, peer in peers.items()],
    )


def _sweep(yard: Scratch, script: str, many: int) -> float:
    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    folder, _, name = script.rpartition("/")
    config = HyperDriveConfig(
        RandomParameterSampling({"--lr": uniform(0, 1)}, {"seed": 1}),
        "score",
        PrimaryMetricGoal.MAXIMIZE,
        many,
        max_concurrent_runs=2 * NODES,
        run_config=ScriptRunConfig(folder, name, compute_target=yard.cluster, environment=mine),
    )
    begun = time.perf_counter()
    sweep = Experiment(yard.workspace, "bench").submit(config)
    ended = sweep.wait_for_completion()
    spent = time.perf_counter() - begun
    children = sweep.get_children_sorted_by_primary_metric(discard_no_metric=True)
    assert ended["status"] == "Completed", ended
    assert len(children) == many, "a child was lost"
    return spent


def _plain(yard: Scratch, script: str, many: int) -> float:
    """As many runs of the same script without a sweep, all submitted at once."""
    begun = time.perf_counter()
    for run in [yard.submit(script, "--lr", "0.5") for _ in range(many)]:
        run.wait_for_completion()
    return time.perf_counter() - begun


def _optuna(script: str, many: int) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        command = [PYTHON, script, "--lr", str(trial.suggest_float("lr", 0, 1))]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    begun = time.perf_counter()
    study.optimize(objective, n_trials=many, n_jobs=NODES)
    return time.perf_counter() - begun


def _ray(python: str, many: int) -> float:
    peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ray_tune.py")
    ended = subprocess.run([python, peer, str(many), str(NODES)], stdout=subprocess.PIPE, text=True, check=True)
    return float(ended.stdout.rpartition("seconds ")[2])


if __name__ == "__main__":
    main()
