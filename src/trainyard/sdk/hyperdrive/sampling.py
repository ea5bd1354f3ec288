"""How a sweep chooses what to try."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from trainyard.contract.sweeps import Sampling, check_sampling, check_space
from trainyard.sdk.effects import no_effect
from trainyard.sdk.hyperdrive.errors import config_errors

_PROPERTIES: dict[Sampling, set[str]] = {
    Sampling.RANDOM: {"seed", "rule"},
    Sampling.GRID: set(),
    Sampling.BAYESIAN: {"seed"},
    Sampling.POPULATION: {"population_size", "seed"},
}


class HyperParameterSampling:
    SAMPLING_NAME: ClassVar[str]

    def __init__(self, sampling: Sampling, parameter_space: dict[str, Any], properties: dict[str, Any] | None) -> None:
        given = {name: value for name, value in (properties or {}).items() if value is not None}
        no_effect(type(self).__name__, **{name: given.pop(name) for name in set(given) - _PROPERTIES[sampling]})
        space = _plain(parameter_space)
        with config_errors():
            check_space(sampling, space)
            check_sampling(sampling, space, given)
        self._sampling = sampling
        self._parameter_space: dict[str, Any] = space
        self._properties = given

    def to_json(self) -> str:
        said = {"name": self.SAMPLING_NAME, "parameter_space": self._parameter_space}
        return json.dumps({**said, "properties": self._properties} if self._properties else said)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameter_space!r})"


class RandomParameterSampling(HyperParameterSampling):
    """`properties`: `seed` makes the samples the same each time; `rule` 'sobol' spreads them evenly over the space."""

    SAMPLING_NAME = Sampling.RANDOM.value

    def __init__(self, parameter_space: dict[str, Any], properties: dict[str, Any] | None = None) -> None:
        super().__init__(Sampling.RANDOM, parameter_space, properties)


class GridParameterSampling(HyperParameterSampling):
    """Every combination; `choice` only."""

    SAMPLING_NAME = Sampling.GRID.value

    def __init__(self, parameter_space: dict[str, Any], properties: dict[str, Any] | None = None) -> None:
        super().__init__(Sampling.GRID, parameter_space, properties)


class BayesianParameterSampling(HyperParameterSampling):
    """Learns from the runs that are over; `choice`, `uniform` and `quniform` only, and no early termination."""

    SAMPLING_NAME = Sampling.BAYESIAN.value

    def __init__(self, parameter_space: dict[str, Any], properties: dict[str, Any] | None = None) -> None:
        super().__init__(Sampling.BAYESIAN, parameter_space, properties)


class PopulationBasedTraining(HyperParameterSampling):
    """Not in the SDK. Children are generations of a population: each goes on from the ./outputs of the run before it,
    the worst from one of the best with its parameters shaken. A script finds those files in ./outputs at its
    start."""

    SAMPLING_NAME = Sampling.POPULATION.value

    def __init__(self, parameter_space: dict[str, Any], population_size: int, seed: int | None = None) -> None:
        super().__init__(Sampling.POPULATION, parameter_space, {"population_size": population_size, "seed": seed})


def sampling_of(sampling: Sampling, space: dict[str, Any], properties: dict[str, Any]) -> HyperParameterSampling:
    """The sampling of a sweep that was submitted before."""
    if sampling is Sampling.POPULATION:
        return PopulationBasedTraining(space, **properties)
    kinds: dict[Sampling, Any] = {
        Sampling.RANDOM: RandomParameterSampling,
        Sampling.GRID: GridParameterSampling,
        Sampling.BAYESIAN: BayesianParameterSampling,
    }
    made: HyperParameterSampling = kinds[sampling](space, properties)
    return made


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's own, so that they travel."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(each) for each in value]
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return value
