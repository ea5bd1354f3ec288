from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from yard import Yard

from trainyard.backends.local import Local
from trainyard.testing.fake_service import FakeService


def _make(root: Path, *, shared: bool) -> Yard:
    service = FakeService(str(root / "blobs")).start()
    return Yard(root, service, Local(str(root / "home"), isolated=not shared), shared)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    """Nodes that share the service's folders."""
    made = _make(tmp_path, shared=True)
    yield made
    made.close()


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Yard]:
    """Nodes that share nothing, with the service or with each other."""
    made = _make(tmp_path, shared=False)
    yield made
    made.close()
