"""Expressions for the values of a parameter: each is a list of its name and its arguments."""

from __future__ import annotations

from typing import Any

from trainyard.contract.sweeps import is_expression


def choice(*options: Any) -> list[Any]:
    """One of the options: given one by one, as one list, or as a range. An option may be an expression itself."""
    if len(options) == 1 and hasattr(options[0], "tolist"):  # numpy's array, or one number of its own
        given = options[0].tolist()
        return ["choice", [given if isinstance(given, list) else [given]]]
    if len(options) == 1 and isinstance(options[0], list | tuple | range) and not is_expression(options[0]):
        return ["choice", [list(options[0])]]
    return ["choice", [list(options)]]


def randint(upper: int) -> list[Any]:
    """A whole number from 0 to upper - 1."""
    return ["randint", [upper]]


def uniform(min_value: float, max_value: float) -> list[Any]:
    return ["uniform", [min_value, max_value]]


def quniform(min_value: float, max_value: float, q: float) -> list[Any]:
    """round(uniform(min_value, max_value) / q) * q. A whole q gives whole numbers."""
    return ["quniform", [min_value, max_value, q]]


def loguniform(min_value: float, max_value: float) -> list[Any]:
    """exp(uniform(min_value, max_value)): the bounds are logarithms."""
    return ["loguniform", [min_value, max_value]]


def qloguniform(min_value: float, max_value: float, q: float) -> list[Any]:
    """round(exp(uniform(min_value, max_value)) / q) * q."""
    return ["qloguniform", [min_value, max_value, q]]


def normal(mu: float, sigma: float) -> list[Any]:
    return ["normal", [mu, sigma]]


def qnormal(mu: float, sigma: float, q: float) -> list[Any]:
    """round(normal(mu, sigma) / q) * q."""
    return ["qnormal", [mu, sigma, q]]


def lognormal(mu: float, sigma: float) -> list[Any]:
    """exp(normal(mu, sigma))."""
    return ["lognormal", [mu, sigma]]


def qlognormal(mu: float, sigma: float, q: float) -> list[Any]:
    """round(exp(normal(mu, sigma)) / q) * q."""
    return ["qlognormal", [mu, sigma, q]]
