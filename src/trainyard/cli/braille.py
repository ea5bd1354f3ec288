"""Lines of points as text: each character is a grid of two by four dots. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800

Point = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """The part of the plane that is seen."""

    left: float
    right: float
    bottom: float
    top: float

    @staticmethod
    def around(lines: Sequence[Sequence[Point]]) -> Frame:
        xs = [x for line in lines for x, _ in line]
        ys = [y for line in lines for _, y in line]
        left, right, bottom, top = min(xs), max(xs), min(ys), max(ys)
        return Frame(left, right if right > left else left + 1, *((bottom, top) if top > bottom else _apart(bottom)))


def draw(lines: Sequence[Sequence[Point]], frame: Frame, width: int, height: int) -> list[list[tuple[str, int]]]:
    """Rows of (character, number of the line it is of, or -1), from the top. Later lines lie on earlier ones."""
    dots = [[0] * width for _ in range(height)]
    owner = [[-1] * width for _ in range(height)]
    for number, line in enumerate(lines):
        places = [_place(point, frame, width * 2, height * 4) for point in line]
        for here, there in zip(places, places[1:] or places, strict=False):
            for x, y in _between(here, there):
                dots[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
                owner[y // 4][x // 2] = number
    return [
        [(chr(_BLANK + bits) if bits else " ", who) for bits, who in zip(*row, strict=True)]
        for row in zip(dots, owner, strict=True)
    ]


def _apart(value: float) -> tuple[float, float]:
    reach = abs(value) * 0.1 or 1.0
    return value - reach, value + reach


def _place(point: Point, frame: Frame, columns: int, rows: int) -> tuple[int, int]:
    x = (point[0] - frame.left) / (frame.right - frame.left)
    y = (point[1] - frame.bottom) / (frame.top - frame.bottom)
    return round(x * (columns - 1)), round((1 - y) * (rows - 1))


def _between(here: tuple[int, int], there: tuple[int, int]) -> list[tuple[int, int]]:
    steps = max(abs(there[0] - here[0]), abs(there[1] - here[1]), 1)
    return [
        (here[0] + round((there[0] - here[0]) * at / steps), here[1] + round((there[1] - here[1]) * at / steps))
        for at in range(steps + 1)
    ]
