"""From numbers in [0, 1) to samples: each expression is the quantile function of its distribution, so that every way of
drawing such numbers (at random, or Sobol's) works for every expression."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

from trainyard.contract.sweeps import CHOICE, choices, flat_options, is_expression

_STANDARD = NormalDist()
_TINY = 2.0**-54


def sample(expression: Any, u: float) -> Any:
    """The value of an expression at quantile `u`."""
    kind, arguments = expression
    if kind == CHOICE:
        options = choices(expression)
        at = min(int(u * len(options)), len(options) - 1)
        chosen = options[at]
        # what is left of u is uniform again: it serves the expression inside
        return sample(chosen, u * len(options) - at) if is_expression(chosen) else chosen
    if kind == "randint":
        return min(int(u * arguments[0]), int(arguments[0]) - 1)
    first, second = arguments[:2]
    value = _normal(first, second, u) if kind.endswith("normal") else first + (second - first) * u
    if kind.lstrip("q").startswith("log"):
        value = math.exp(value)
    return rounded(value, arguments[2]) if kind.startswith("q") else value


def rounded(value: float, q: Any) -> Any:
    """round(value / q) * q. A whole q gives whole numbers; a fraction does not gather noise in its last digits."""
    steps = round(value / q)
    return steps * q if isinstance(q, int) else float(f"{steps * q:.12g}")


def grid(space: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination, the last parameter changing first."""
    for values in itertools.product(*(flat_options(expression) for expression in space.values())):
        yield dict(zip(space, values, strict=True))


def grid_size(space: dict[str, Any]) -> int:
    return math.prod(len([*flat_options(expression)]) for expression in space.values())


def _normal(mu: float, sigma: float, u: float) -> float:
    return mu + sigma * _STANDARD.inv_cdf(min(max(u, _TINY), 1 - _TINY))
