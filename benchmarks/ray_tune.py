"""The trials of `sweep_many.py` by Ray Tune, in an interpreter that has it. Prints the seconds from the first trial to
the last; starting Ray is not counted. A trial is a process of Ray's own, which reports its sample.

Run: PYTHON benchmarks/ray_tune.py TRIALS AT_ONCE
"""

from __future__ import annotations

import os
import sys
import tempfile
import time


def main(trials: int, at_once: int) -> None:
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AIR_NEW_OUTPUT": "0", "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1"}
    os.environ.setdefault("RAY_AUTH_TOKEN", os.urandom(16).hex())
    import ray
    from ray import tune

    def objective(config: dict[str, float]) -> None:
        tune.report({"score": config["lr"]})

    with tempfile.TemporaryDirectory(prefix="ray-tune-") as folder:
        ray.init(num_cpus=at_once, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        tuner = tune.Tuner(
            objective,
            param_space={"lr": tune.uniform(0, 1)},
            tune_config=tune.TuneConfig(num_samples=trials, max_concurrent_trials=at_once, metric="score", mode="max"),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        begun = time.perf_counter()
        results = tuner.fit()
        spent = time.perf_counter() - begun
        assert len(results) == trials
        assert not results.errors
        ray.shutdown()
    print(f"seconds {spent}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
