"""A sweep of 200 children of a trivial script on two nodes, to its end. Beside it Optuna with `n_jobs=2`, whose
objective starts the script as a process, as a sweep does.

Run: python benchmarks/sweep_many.py [children]
"""

from __future__ import annotations

import subprocess
import sys
import time

from measure import Row, show
from scratch import PYTHON, Scratch, scratch

from azureml.core import Environment, Experiment, ScriptRunConfig
from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal, RandomParameterSampling, uniform

CHILDREN = int(sys.argv[1]) if len(sys.argv) > 1 else 200
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
    with scratch(NODES) as yard:
        bare = _optuna(yard.script("bare", BARE))
        child = yard.script("child", OURS)
        plain = _plain(yard, child)
        ours = _sweep(yard, child)
    over = f"Optuna, n_jobs={NODES}, a process each"
    show(
        f"{CHILDREN} children of a trivial script, {NODES} at once, from the first to the last",
        [
            Row("per child", ours / CHILDREN * 1e3, bare / CHILDREN * 1e3, over=over),
            Row("per child", ours / CHILDREN * 1e3, plain / CHILDREN * 1e3, over="as many plain runs"),
        ],
    )


def _sweep(yard: Scratch, script: str) -> float:
    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    folder, _, name = script.rpartition("/")
    config = HyperDriveConfig(
        RandomParameterSampling({"--lr": uniform(0, 1)}, {"seed": 1}),
        "score",
        PrimaryMetricGoal.MAXIMIZE,
        CHILDREN,
        max_concurrent_runs=2 * NODES,
        run_config=ScriptRunConfig(folder, name, compute_target=yard.cluster, environment=mine),
    )
    begun = time.perf_counter()
    sweep = Experiment(yard.workspace, "bench").submit(config)
    ended = sweep.wait_for_completion()
    spent = time.perf_counter() - begun
    children = sweep.get_children_sorted_by_primary_metric(discard_no_metric=True)
    assert ended["status"] == "Completed", ended
    assert len(children) == CHILDREN, "a child was lost"
    return spent


def _plain(yard: Scratch, script: str) -> float:
    """As many runs of the same script without a sweep, all submitted at once."""
    begun = time.perf_counter()
    for run in [yard.submit(script, "--lr", "0.5") for _ in range(CHILDREN)]:
        run.wait_for_completion()
    return time.perf_counter() - begun


def _optuna(script: str) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        command = [PYTHON, script, "--lr", str(trial.suggest_float("lr", 0, 1))]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    begun = time.perf_counter()
    study.optimize(objective, n_trials=CHILDREN, n_jobs=NODES)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
