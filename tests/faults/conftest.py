from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from stead import Stead


def _open(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stead]:
    # below /tmp and short: the guardian's socket lives in the home, and tmp_path can be long
    root = Path(tempfile.mkdtemp(prefix="ty-"))
    made = Stead(root)
    monkeypatch.setenv("TRAINYARD_HOME", made.home.path)
    monkeypatch.delenv("TRAINYARD_ENDPOINT", raising=False)
    monkeypatch.chdir(root)
    try:
        yield made
        made.close()
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def stead(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stead]:
    """A home that the test may break."""
    yield from _open(monkeypatch)


@pytest.fixture(scope="module")
def shared() -> Iterator[Stead]:
    """A home for tests that break only what they bring along."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from _open(monkeypatch)
