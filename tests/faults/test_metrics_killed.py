"""The short form of `make soak`'s storm over metrics."""

from __future__ import annotations

from metric_storm import MetricStorm
from stead import Stead


def test_every_value_is_there_once_after_kills(stead: Stead) -> None:
    storm = MetricStorm(stead, seed=6)
    storm.blow(0, kills=3)
    storm.expect_every_value_once()
