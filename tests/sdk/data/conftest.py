"""What the tests of tables share."""

from __future__ import annotations

import pytest


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A home of the test's own, so that what one fetched no other finds."""
    from trainyard.sdk.data import data_here

    monkeypatch.setenv("TRAINYARD_HOME", str(tmp_path / "home"))
    data_here._cache_folder.cache_clear()
    yield
    data_here._cache_folder.cache_clear()
