import math

import pytest

from trainyard.tuning import sobol
from trainyard.tuning.space import grid, grid_size, sample


@pytest.mark.parametrize(
    ("expression", "u", "value"),
    [
        (["uniform", [2, 6]], 0.25, 3.0),
        (["quniform", [0, 10, 2]], 0.33, 4),  # round(3.3 / 2) * 2
        (["quniform", [0, 1, 0.1]], 0.31, 0.3),
        (["randint", [4]], 0.0, 0),
        (["randint", [4]], 0.999, 3),
        (["loguniform", [0, 0]], 0.7, 1.0),
        (["loguniform", [math.log(10), math.log(1000)]], 0.5, pytest.approx(100.0)),
        (["qloguniform", [math.log(10), math.log(1000), 7]], 0.5, 98),  # round(100 / 7) * 7
        (["normal", [5, 2]], 0.5, 5.0),
        (["normal", [0, 1]], 0.8413447460685429, pytest.approx(1.0)),
        (["qnormal", [5, 2, 2]], 0.5, 4),  # round(2.5) is 2, as Python rounds
        (["lognormal", [0, 1]], 0.5, 1.0),
        (["qlognormal", [math.log(8), 1, 3]], 0.5, 9),
        (["choice", [["a", "b", "c", "d"]]], 0.6, "c"),
        (["choice", ["a", "b"]], 0.6, "b"),
        (["choice", [[["uniform", [0, 1]], 7]]], 0.25, 0.5),  # the first half of u, stretched, is the inner u
        (["choice", [[["choice", [[1, 2]]], ["choice", [[3, 4]]]]]], 0.8, 4),
    ],
)
def test_an_expression_at_a_quantile(expression, u, value):
    assert sample(expression, u) == value


def test_whole_steps_give_whole_numbers():
    assert type(sample(["quniform", [1, 64, 1]], 0.4)) is int
    assert type(sample(["quniform", [1, 64, 1.0]], 0.4)) is float


def test_a_grid_is_every_combination_once():
    space = {"a": ["choice", [[1, 2]]], "b": ["choice", [["x", ["choice", [["y", "z"]]]]]]}
    assert grid_size(space) == 6
    assert list(grid(space)) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 1, "b": "z"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
        {"a": 2, "b": "z"},
    ]


def test_sobols_first_points():
    assert [sobol.point(at, 3) for at in range(6)] == [
        [0.0, 0.0, 0.0],
        [0.5, 0.5, 0.5],
        [0.75, 0.25, 0.25],
        [0.25, 0.75, 0.75],
        [0.375, 0.375, 0.625],
        [0.875, 0.875, 0.125],
    ]


def test_sobols_points_are_spread_evenly_in_every_dimension():
    points = [sobol.point(at, 21, seed=5) for at in range(64)]
    for dimension in range(21):
        assert sorted(int(point[dimension] * 64) for point in points) == list(range(64))


def test_seeds_move_sobols_points():
    assert sobol.point(3, 2, seed=1) != sobol.point(3, 2, seed=2)
    assert sobol.point(3, 2, seed=1) == sobol.point(3, 2, seed=1)
