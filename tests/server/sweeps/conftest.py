from __future__ import annotations

from pathlib import Path

import pytest
from sweep_yard import SweepYard

from trainyard.server.context import Context


@pytest.fixture
def yard(context: Context, call, tmp_path: Path) -> SweepYard:
    folder = tmp_path / "tapes"
    folder.mkdir()
    return SweepYard(context, call, folder)
