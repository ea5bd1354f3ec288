"""The local backend does what every backend must, and its guardian survives being killed."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from trainyard.backends import make_backend
from trainyard.backends.base import Backend
from trainyard.backends.local import Local
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.states import AgentState
from trainyard.testing.backend_kit import BackendKit, placement

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    open(sys.argv[1] + f"/pid-daemon-{os.getpid()}", "w").close()
    time.sleep(600)
open(sys.argv[1] + f"/pid-agent-{os.getpid()}", "w").close()
time.sleep(600)
"""


def guardian_pid(home: Path) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect((home / "guardian.addr").read_text())
        connection.sendall(b'{"verb": "list"}\n')
        return int(json.loads(connection.makefile().readline())["answer"]["pid"])


def end_guardian(home: Path) -> None:
    pid = guardian_pid(home)
    fd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([fd], [], [], 10)
    os.close(fd)


def let_guardian_end(home: Path) -> None:
    """It goes once nothing runs, and takes its control groups along."""
    Local(str(home)).observe(["x"])  # a test may have ended it already
    fd = os.pidfd_open(guardian_pid(home))
    Local(str(home)).close()
    assert select.select([fd], [], [], 10)[0]
    os.close(fd)


class TestLocal(BackendKit):
    isolated = False

    @pytest.fixture
    def home(self, tmp_path: Path) -> Iterator[Path]:
        home = tmp_path / "home"
        home.mkdir()
        yield home
        if (home / "guardian.addr").exists():
            let_guardian_end(home)

    @pytest.fixture
    def backend(self, home: Path) -> Backend:
        return Local(str(home), isolated=self.isolated)

    @pytest.fixture
    def again(self, home: Path) -> Callable[[], Backend]:
        return lambda: make_backend("local", home=str(home), isolated=self.isolated)

    def test_it_says_whether_its_nodes_see_the_services_folders(self, backend: Backend) -> None:
        assert backend.shares_files is not self.isolated

    def test_a_killed_guardian_comes_back_and_knows_all(
        self, backend: Backend, again: Callable[[], Backend], home: Path, work: Path
    ) -> None:
        done = backend.submit(backend.plan(placement(work, "pass")))
        failed = backend.submit(backend.plan(placement(work, "raise SystemExit(4)")))
        assert self.end_of(backend, done).state is AgentState.DONE
        assert self.end_of(backend, failed).state is AgentState.FAILED
        runs = backend.submit(backend.plan(placement(work, DAEMON, arguments=(str(work),))))
        self.pids(work, 2)
        end_guardian(home)
        other = again()
        seen = other.observe([done, failed, runs])
        assert [seen[name].state for name in (done, failed, runs)] == [
            AgentState.DONE,
            AgentState.FAILED,
            AgentState.RUNNING,
        ]
        self.cancel_and_see_nothing_left(other, runs, work, 2, grace_s=0.2)

    def test_agents_that_died_without_a_guardian_leave_nothing(
        self, backend: Backend, again: Callable[[], Backend], home: Path, work: Path
    ) -> None:
        runs = backend.submit(backend.plan(placement(work, DAEMON, arguments=(str(work),))))
        pids = self.pids(work, 2)
        end_guardian(home)
        os.kill(next(pid for name, pid in pids if "agent" in name), signal.SIGKILL)
        assert self.end_of(again(), runs).state is AgentState.FAILED
        assert not self.living(pids)

    def test_a_second_guardian_gives_way(self, backend: Backend, home: Path) -> None:
        backend.observe(["x"])
        first = guardian_pid(home)
        argv = [sys.executable, "-m", "trainyard.agent.guardian", "--home", str(home)]
        assert subprocess.run(argv, timeout=30, check=False).returncode == 0
        assert guardian_pid(home) == first

    def test_many_starters_get_one_guardian(self, home: Path) -> None:
        script = "import sys; from trainyard.backends.local import Local; Local(sys.argv[1]).observe(['x'])"
        starters = [subprocess.Popen([sys.executable, "-c", script, str(home)]) for _ in range(3)]
        assert [starter.wait(60) for starter in starters] == [0, 0, 0]
        assert (home / "guardian.log").read_bytes() == b""
        guardian_pid(home)

    def test_only_the_owner_can_reach_it(self, backend: Backend, home: Path) -> None:
        backend.observe(["x"])
        assert (home / "guardian.sock").stat().st_mode & 0o777 == 0o600

    def test_an_id_never_becomes_a_path(self, backend: Backend, work: Path) -> None:
        placed = replace(placement(work, "pass"), attempt_id="../outside")
        with pytest.raises(InvalidRequest, match="not an attempt's id"):
            backend.submit(backend.plan(placed))

    def test_it_ends_by_itself_when_nothing_runs(self, backend: Backend, home: Path) -> None:
        backend.observe(["x"])
        fd = os.pidfd_open(guardian_pid(home))
        backend.close()
        assert select.select([fd], [], [], 10)[0]
        os.close(fd)
        backend.observe(["x"])  # and is there again when needed


class TestIsolated(TestLocal):
    isolated = True


def test_a_home_with_a_long_path_works(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 40)
    backend = Local(str(home))
    assert backend.observe(["x"])["x"].state is AgentState.LOST
    address = Path((home / "guardian.addr").read_text())
    assert len(str(address)) <= 107
    assert address.parent.stat().st_mode & 0o777 == 0o700
    let_guardian_end(home)
    assert not address.parent.exists()
