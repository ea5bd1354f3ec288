"""Minutes of logging under kill -9 of scripts, agents and the service: counts and order of every series are exact."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from metric_storm import MetricStorm, report
from stead import Stead

SECONDS = float(os.environ.get("TRAINYARD_SOAK_S") or 120)
SEED = int(os.environ.get("TRAINYARD_SOAK_SEED") or time.time_ns() % 1_000_000)


@pytest.fixture
def stead(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stead]:
    root = Path(tempfile.mkdtemp(prefix="ty-"))
    made = Stead(root)
    monkeypatch.setenv("TRAINYARD_HOME", made.home.path)
    monkeypatch.delenv("TRAINYARD_ENDPOINT", raising=False)
    monkeypatch.chdir(root)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


def test_metrics_are_exact_in_a_storm(stead: Stead) -> None:
    print(f"seed {SEED}, {SECONDS:.0f} s")
    storm = MetricStorm(stead, SEED)
    storm.blow(SECONDS)
    print(report(storm))
    storm.expect_every_value_once()
