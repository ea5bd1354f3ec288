"""What a sweep tries next. A proposal depends on the space, the seed, its index and the history, and on nothing else:
asked again after a crash, the answer is the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, Protocol

from trainyard.contract.sweeps import Sampling
from trainyard.tuning import sobol
from trainyard.tuning.history import History, Proposal
from trainyard.tuning.space import grid, grid_size, sample


class Sampler(Protocol):
    total: int | None  # how many proposals there are at most; None: as many as are asked for
    learns: bool  # whether it is better asked late, when more of the history is known

    def propose(self, index: int, history: History) -> Proposal | None:
        """The trial of that index; None: not before more trials are over."""


class RandomSampler:
    total: int | None = None
    learns = False

    def __init__(self, space: dict[str, Any], seed: int, rule: str | None = None) -> None:
        self._space = space
        self._seed = seed
        self._sobol = rule is not None and rule.lower() == "sobol"

    def propose(self, index: int, history: History) -> Proposal:
        del history
        return Proposal(draw(self._space, self._point(index)))

    def _point(self, index: int) -> list[float]:
        if self._sobol:
            return sobol.point(index, len(self._space), self._seed)
        return at_random(self._seed, index, len(self._space))


class GridSampler:
    learns = False

    def __init__(self, space: dict[str, Any]) -> None:
        self._space = space
        self.total: int | None = grid_size(space)

    def propose(self, index: int, history: History) -> Proposal:
        del history
        return Proposal(next(itertools.islice(grid(self._space), index, None)))


def draw(space: dict[str, Any], point: list[float]) -> dict[str, Any]:
    return {name: sample(expression, u) for (name, expression), u in zip(space.items(), point, strict=True)}


def at_random(seed: int, index: int, dimensions: int) -> list[float]:
    drawn = random.Random(f"{seed}/{index}")  # noqa: S311 - no secret
    return [drawn.random() for _ in range(dimensions)]


def make_sampler(sampling: Sampling, space: dict[str, Any], properties: dict[str, Any], seed: int) -> Sampler:
    makers: dict[Sampling, Callable[[], Sampler]] = {
        Sampling.RANDOM: lambda: RandomSampler(space, seed, properties.get("rule")),
        Sampling.GRID: lambda: GridSampler(space),
        Sampling.BAYESIAN: lambda: _bayesian(space, seed),
        Sampling.POPULATION: lambda: _population(space, properties, seed),
    }
    return makers[sampling]()


def _bayesian(space: dict[str, Any], seed: int) -> Sampler:
    from trainyard.tuning.tpe import TpeSampler

    return TpeSampler(space, seed)


def _population(space: dict[str, Any], properties: dict[str, Any], seed: int) -> Sampler:
    from trainyard.tuning.population import PopulationSampler

    return PopulationSampler(space, int(properties["population_size"]), seed)
