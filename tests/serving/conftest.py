from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deployed import Deployed, scorer

from trainyard.contract.serving import Scorer, ServicePlan


@pytest.fixture(scope="session")
def scoring_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the overlay is laid, once."""
    return tmp_path_factory.mktemp("scoring-home")


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A folder with a scoring script."""

    def write(script: str, name: str = "source", **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "score.py").write_text(textwrap.dedent(script))
        for file, text in files.items():
            (folder / file.replace("__", ".")).write_text(text)
        return folder

    return write


@pytest.fixture
def service(tmp_path: Path, scoring_home: Path) -> Iterator[Callable[..., Deployed]]:
    """Makes a service; it ends with the test."""
    made: list[Deployed] = []

    def make(*scorers: Scorer, name: str = "echo", **settings: Any) -> Deployed:
        plan = ServicePlan(name=name, generation=1, scorers=scorers, **settings)
        deployed = Deployed(tmp_path / "services" / name, scoring_home, plan)
        made.append(deployed)
        return deployed

    yield make
    for deployed in made:
        if deployed.process is not None:
            deployed.stop()


@pytest.fixture
def of_script(written: Callable[..., Path], service: Callable[..., Deployed]) -> Callable[..., Deployed]:
    """A service of one script, started and healthy."""

    def make(script: str, *, plan: dict[str, Any] | None = None, **settings: Any) -> Deployed:
        return service(scorer(written(script), **settings), **(plan or {})).start().healthy()

    return make
