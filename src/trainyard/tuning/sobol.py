"""Sobol's sequence with the direction numbers of Joe and Kuo, moved by a digital shift so that seeds differ."""

from __future__ import annotations

import random

_BITS = 30

# Dimension 2 and on: degree of the primitive polynomial, its inner coefficients, the first direction numbers.
_JOE_KUO = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
    (5, 11, (1, 1, 5, 1, 1)),
    (5, 13, (1, 1, 1, 3, 11)),
    (5, 14, (1, 3, 5, 5, 31)),
    (6, 1, (1, 3, 3, 9, 7, 49)),
    (6, 13, (1, 1, 1, 15, 21, 21)),
    (6, 16, (1, 3, 1, 13, 27, 49)),
    (6, 19, (1, 1, 1, 15, 7, 5)),
    (6, 22, (1, 3, 1, 15, 13, 25)),
    (6, 25, (1, 1, 5, 5, 19, 61)),
    (7, 1, (1, 3, 7, 11, 23, 15, 103)),
    (7, 4, (1, 3, 7, 13, 13, 15, 69)),
)


def point(index: int, dimensions: int, seed: int | None = None) -> list[float]:
    """The point of that index, each coordinate in [0, 1). Without a seed, the bare sequence."""
    gray = index ^ (index >> 1)
    found = []
    for dimension in range(dimensions):
        bits = 0
        for at, direction in enumerate(_directions(dimension)):
            if gray >> at & 1:
                bits ^= direction
        if seed is not None:
            bits ^= random.Random(f"{seed}/{dimension}").getrandbits(_BITS)  # noqa: S311 - no secret
        found.append(bits / (1 << _BITS))
    return found


def _directions(dimension: int) -> list[int]:
    if dimension == 0:
        return [1 << (_BITS - 1 - at) for at in range(_BITS)]
    degree, inner, first = _JOE_KUO[dimension - 1]
    numbers = list(first)
    for at in range(degree, _BITS):
        new = numbers[at - degree] ^ (numbers[at - degree] << degree)
        for back in range(1, degree):
            if inner >> (degree - 1 - back) & 1:
                new ^= numbers[at - back] << back
        numbers.append(new)
    return [number << (_BITS - 1 - at) for at, number in enumerate(numbers)]
