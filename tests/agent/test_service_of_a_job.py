"""A job that finds the service gone brings it back, and the service outlives the job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from yard import alive, kill_and_wait

from trainyard.backends.local import Local
from trainyard.client.home import Home
from trainyard.contract.states import AgentState
from trainyard.testing.backend_kit import BackendKit, placement

NEEDS_SERVICE = "import sys; from trainyard.client.home import Home; Home(sys.argv[1]).ensure_running()"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(str(tmp_path / "home"))
    yield home
    if (running := home.running()) is not None:
        kill_and_wait(running.pid)
    Local(home.path).close()


def test_a_service_that_a_job_needed_is_not_ended_with_it(home: Home, tmp_path: Path) -> None:
    backend = Local(home.path)
    handle = backend.submit(backend.plan(placement(tmp_path, NEEDS_SERVICE, arguments=(home.path,))))
    assert BackendKit().end_of(backend, handle).state is AgentState.DONE, backend.logs(handle)
    running = home.running()
    assert running is not None
    assert alive(running.pid)
    environment = Path(f"/proc/{running.pid}/environ").read_bytes()
    assert b"TRAINYARD_ATTEMPT=" not in environment
