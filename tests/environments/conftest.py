"""A home, a folder of hand-made wheels, and builds of what is asked of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from goods import Ask, definition, wheel

from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.build import build
from trainyard.environments.plan import Planner
from trainyard.environments.request import Request
from trainyard.environments.store import Built


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    wheel(folder, "apple", "1.0")
    wheel(folder, "apple", "1.4")
    wheel(folder, "apple", "2.0")
    wheel(folder, "pear", "1.0", requires=["apple<2"])
    wheel(folder, "plum", "3.0", tag="cp27-none-any")  # for a Python that nobody has
    return folder


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    return Planner(str(tmp_path / "home"), os.environ)


@pytest.fixture
def ask(planner: Planner, wheels: Path) -> Ask:
    """ask(*requirements, relax=False, **python) → what a builder is told; packages come from the hand-made wheels."""

    def request(*requirements: str, relax: bool = False, **python: Any) -> Request:
        lines = ["--no-index", f"--find-links {wheels}", *requirements]
        spec = EnvironmentSpec("mine", definition=definition(lines, **python))
        made = planner.plan(spec, relax=relax)
        assert made is not None
        return made

    return request


@pytest.fixture
def built(planner: Planner) -> Callable[[Request], Built]:
    """Builds, and fails the test with the builder's sentence if that does not work."""

    def make(request: Request) -> Built:
        code = build(planner.store, request, os.environ)
        failure = planner.store.failure(request.key)
        assert code == 0, failure and failure.error.message
        found = planner.store.find(request.key)
        assert found is not None
        return found

    return make


@pytest.fixture
def refused(planner: Planner) -> Callable[[Request], str]:
    """Builds what cannot be built; answers the sentence, and sees to it that nothing is left."""

    def make(request: Request) -> str:
        assert build(planner.store, request, os.environ) == 1
        assert planner.store.find(request.key) is None
        assert not Path(planner.store.folder(request.key)).exists()
        failure = planner.store.failure(request.key)
        assert failure is not None
        return failure.error.message

    return make
