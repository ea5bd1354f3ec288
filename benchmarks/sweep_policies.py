"""What early termination saves, and what TPE finds, on a real small network: the digits of scikit-learn, a perceptron
with one hidden layer, its learning rate, batch, width, momentum and weight decay searched.

Curves are trained once for each sample and seed; each policy then judges them as a sweep would, `AT_ONCE` runs side by
side, epoch by epoch. So the policies see the same runs, and the figures do not depend on how busy the machine is.

Run: python benchmarks/sweep_policies.py [seeds]
"""

from __future__ import annotations

import functools
import math
import statistics
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from measure import Row, show
from sklearn.datasets import load_digits

from trainyard.contract.sweeps import Goal, Sampling
from trainyard.tuning.history import History, Trial
from trainyard.tuning.policies import Asha, Bandit, Hyperband, Median, Never, Policy, Truncation
from trainyard.tuning.samplers import Sampler, make_sampler

EPOCHS = 20
RUNS = 30
AT_ONCE = 4
SPACE: dict[str, Any] = {
    "lr": ["loguniform", [math.log(1e-3), math.log(3.0)]],
    "batch": ["choice", [[16, 32, 64, 128]]],
    "units": ["choice", [[8, 16, 32, 64]]],
    "momentum": ["uniform", [0.0, 0.99]],
    "decay": ["loguniform", [math.log(1e-6), math.log(1e-1)]],
}
# The same as TPE is given it: it takes no logarithms, so those are what is searched.
UNIFORM: dict[str, Any] = {
    **SPACE,
    "lr": ["uniform", [math.log(1e-3), math.log(3.0)]],
    "decay": ["uniform", [math.log(1e-6), math.log(1e-1)]],
}
POLICIES: dict[str, Policy] = {
    "none": Never(),
    "bandit, slack 0.1, after 5": Bandit(1, 5, factor=0.1),
    "median, after 5": Median(1, 5),
    "truncation 20 %, every 5": Truncation(20, 5, 5),
    "ASHA, from 2, factor 3": Asha(2, 3),
    "Hyperband, 20, factor 3": Hyperband(EPOCHS, 3),
}


@dataclass(frozen=True)
class Swept:
    best: float
    epochs: int


def main(seeds: int) -> None:
    whole = [_swept(Never(), seed) for seed in range(seeds)]
    for name, policy in POLICIES.items():
        if name == "none":
            continue
        cut = [_swept(policy, seed) for seed in range(seeds)]
        saved = [1 - short.epochs / full.epochs for short, full in zip(cut, whole, strict=True)]
        lost = [full.best - short.best for short, full in zip(cut, whole, strict=True)]
        equal = sum(each <= 1e-9 for each in lost)
        print(
            f"{name:<28} saves {statistics.fmean(saved):4.0%} of the epochs ({min(saved):.0%} to {max(saved):.0%}); "
            f"the same best value in {equal} of {seeds} seeds, at most {max(lost):.4f} lower"
        )
    _tpe(seeds, statistics.median(each.best for each in whole))


def _swept(policy: Policy, seed: int) -> Swept:
    """A sweep in miniature: `AT_ONCE` runs go on by one epoch at a time."""
    sampler = make_sampler(Sampling.RANDOM, SPACE, {}, seed)
    trials: list[Trial] = []
    spent = 0
    while True:
        live = [trial for trial in trials if not trial.over]
        while len(live) < AT_ONCE and len(trials) < RUNS:
            proposal = sampler.propose(len(trials), History(Goal.MAXIMIZE, trials))
            assert proposal is not None
            trials.append(Trial(len(trials), proposal.parameters))
            live.append(trials[-1])
        if not live:
            break
        for trial in live:
            values = _curve(tuple(trial.parameters.values()), seed)[: len(trial.values) + 1]
            trials[trial.index] = Trial(trial.index, trial.parameters, len(values) == EPOCHS, values)
            spent += 1
        for stop in policy.stops(History(Goal.MAXIMIZE, trials)):
            trial = trials[stop.index]
            trials[stop.index] = Trial(trial.index, trial.parameters, True, trial.values)
    return Swept(max(max(trial.finite, default=0.0) for trial in trials), spent)


def _tpe(seeds: int, target: float) -> None:
    """How many trials until the validation accuracy that a random sweep of `RUNS` reaches in half of the seeds."""
    found = {}
    for sampling in (Sampling.RANDOM, Sampling.BAYESIAN):
        found[sampling] = [
            _trials_to(make_sampler(sampling, UNIFORM, {}, 100 + seed), target, seed) for seed in range(seeds)
        ]
    learned, chance = (statistics.fmean(found[each]) for each in (Sampling.BAYESIAN, Sampling.RANDOM))
    show(
        f"trials to a validation accuracy of {target:.4f} (at most {2 * RUNS}), mean of {seeds} seeds",
        [Row("TPE", learned, chance, unit="trials", over="random")],
    )


def _trials_to(sampler: Sampler, target: float, seed: int) -> int:
    trials: list[Trial] = []
    while len(trials) < 2 * RUNS:
        proposal = sampler.propose(len(trials), History(Goal.MAXIMIZE, trials))
        assert proposal is not None
        given = proposal.parameters
        actual = {**given, "lr": math.exp(given["lr"]), "decay": math.exp(given["decay"])}
        best = max(_curve(tuple(actual.values()), seed))
        trials.append(Trial(len(trials), given, True, (best,)))
        if best >= target:
            break
    return len(trials)


@functools.lru_cache(maxsize=100_000)
def _curve(sample: tuple[Any, ...], seed: int) -> tuple[float, ...]:
    """Validation accuracy after each epoch."""
    rate, batch, units, momentum, decay = sample
    train_x, train_y, test_x, test_y = _digits(seed)
    drawn = np.random.default_rng(seed)
    weights = [drawn.normal(0, 64**-0.5, (64, units)), np.zeros(units)]
    weights += [drawn.normal(0, units**-0.5, (units, 10)), np.zeros(10)]
    speed = [np.zeros_like(each) for each in weights]
    found = []
    with np.errstate(all="ignore"):  # a rate that is too high diverges; that is what a search is there to find out
        for _ in range(EPOCHS):
            order = drawn.permutation(len(train_x))
            for first in range(0, len(order), batch):
                some = order[first : first + batch]
                for each, change, slope in zip(
                    weights, speed, _slopes(weights, train_x[some], train_y[some]), strict=True
                ):
                    change *= momentum
                    change -= rate * (slope + decay * each)
                    each += change
            right = np.mean(np.argmax(_forward(weights, test_x)[1], axis=1) == test_y)
            found.append(float(right) if np.isfinite(right) else 0.0)
    return tuple(found)


def _forward(weights: list[Any], x: Any) -> tuple[Any, Any]:
    hidden = np.maximum(x @ weights[0] + weights[1], 0)
    return hidden, hidden @ weights[2] + weights[3]


def _slopes(weights: list[Any], x: Any, y: Any) -> list[Any]:
    hidden, scores = _forward(weights, x)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(y)), y] -= 1
    shares /= len(y)
    back = (shares @ weights[2].T) * (hidden > 0)
    return [x.T @ back, back.sum(axis=0), hidden.T @ shares, shares.sum(axis=0)]


@functools.cache
def _digits(seed: int) -> tuple[Any, Any, Any, Any]:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = x[order] / 16, y[order]
    return x[:1000], y[:1000], x[1000:], y[1000:]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
