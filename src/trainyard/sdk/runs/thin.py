"""Fewer points for the same picture, for series that are small enough to be here already."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float, float]


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most `most` of the points: the first, the last, and the lowest and highest of each stretch between them."""
    if len(points) <= most:
        return list(points)
    inner = points[1:-1]
    stretches = max(1, (most - 2) // 2)
    kept: list[Point] = [points[0]]
    for at in range(stretches):
        stretch = range(at * len(inner) // stretches, (at + 1) * len(inner) // stretches)
        low = min(stretch, key=lambda index: inner[index][1])
        high = max(stretch, key=lambda index: inner[index][1])
        kept += [inner[index] for index in sorted({low, high})]
    return [*kept, points[-1]]
