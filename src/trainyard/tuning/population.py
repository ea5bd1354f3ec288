"""Population-based training. Child i is member i % size of generation i // size. A member goes on from its own outputs;
the worst of a generation go on from the outputs of one of the best, with its parameters shaken. Members are compared by
the value they ended with: it is what their outputs are worth."""

from __future__ import annotations

import math
import random
from typing import Any

from trainyard.contract.sweeps import CHOICE, flat_options, is_expression
from trainyard.tuning.history import History, Proposal, Trial
from trainyard.tuning.samplers import at_random, draw
from trainyard.tuning.space import rounded, sample

_SHARE = 0.2  # of a generation that is replaced, and that it is replaced from
_AGAIN = 0.25  # how often a shaken parameter is drawn anew
_FACTORS = (0.8, 1.2)


class PopulationSampler:
    total: int | None = None
    learns = True

    def __init__(self, space: dict[str, Any], size: int, seed: int) -> None:
        self._space = space
        self._size = size
        self._seed = seed

    def propose(self, index: int, history: History) -> Proposal | None:
        generation, member = divmod(index, self._size)
        if generation == 0:
            return self._fresh(index)
        first = (generation - 1) * self._size
        before = [trial for trial in history.trials if first <= trial.index < first + self._size]
        if len(before) < self._size or not all(trial.over for trial in before):
            return None
        scored = {trial.index: score for trial in before if (score := history.last(trial)) is not None}
        if not scored:
            return self._fresh(index)
        order = sorted(scored, key=lambda at: (-scored[at], at))
        share = max(1, math.floor(self._size * _SHARE))
        best, worst = order[:share], set(order[share:][-share:])
        own = first + member
        if own in scored and own not in worst:
            return Proposal(dict(_trial(before, own).parameters), own)
        drawn = random.Random(f"{self._seed}/{index}")  # noqa: S311 - no secret
        model = drawn.choice(best)
        return Proposal(self._shaken(_trial(before, model).parameters, drawn), model)

    def _fresh(self, index: int) -> Proposal:
        return Proposal(draw(self._space, at_random(self._seed, index, len(self._space))))

    def _shaken(self, parameters: dict[str, Any], drawn: random.Random) -> dict[str, Any]:
        return {name: _shake(self._space[name], parameters[name], drawn) for name in self._space}


def _trial(trials: list[Trial], index: int) -> Trial:
    return next(trial for trial in trials if trial.index == index)


def _shake(expression: Any, value: Any, drawn: random.Random) -> Any:
    """Numbers a fifth up or down within their range, by a step at least; options one place on; now and then anew."""
    kind, arguments = expression
    if drawn.random() < _AGAIN:
        return sample(expression, drawn.random())
    if kind == CHOICE:
        options = list(flat_options(expression))
        if value not in options or any(is_expression(each) for each in options):
            return sample(expression, drawn.random())
        at = options.index(value) + drawn.choice((-1, 1))
        return options[min(max(at, 0), len(options) - 1)]
    factor = drawn.choice(_FACTORS)
    step = 1 if kind == "randint" else arguments[2] if kind.startswith("q") else 0
    change = value * (factor - 1)
    if abs(change) < step:
        change = step if factor > 1 else -step
    low, high = _range(kind, arguments)
    shaken = min(max(value + change, low), high)
    return rounded(shaken, step) if step else shaken


def _range(kind: str, arguments: Any) -> tuple[float, float]:
    if kind == "randint":
        return 0, arguments[0] - 1
    if kind.endswith("normal"):
        return 0 if "log" in kind else -math.inf, math.inf
    low, high = arguments[:2]
    return (math.exp(low), math.exp(high)) if "log" in kind else (low, high)
