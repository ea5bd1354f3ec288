"""What every backend must do, as tests. Subclass, give a `backend` fixture, and the contract of `backends/base.py` is
checked with plain commands in the agents' place:

    class TestMine(BackendKit):
        @pytest.fixture
        def backend(self, tmp_path):
            return Mine(...)

`again` must make a second backend object over the same engine, as a restarted service would.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from trainyard.backends.base import Backend, Observed, Placement
from trainyard.contract.attempts import ATTEMPT_VARIABLE, AgentOrder
from trainyard.contract.names import new_id
from trainyard.contract.states import AgentState

T = TypeVar("T")

_OVER = (AgentState.DONE, AgentState.FAILED, AgentState.LOST)

# Forks a daemon that leaves its session and ignores SIGTERM, notes its own and the daemon's process id, and stays for
# the given seconds.
_WITH_DAEMON = """
import json, os, signal, sys, time
order = json.loads(sys.stdin.readline())
noted, note = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open(os.path.join(order['work'], f"pid-daemon-{os.getpid()}"), 'w').close()
        os.write(note, b"1")
        time.sleep(600)
    os._exit(0)
os.wait()
os.read(noted, 1)  # a daemon that is ended before it has noted itself could not be looked for
open(os.path.join(order['work'], f"pid-agent-{os.getpid()}"), 'w').close()
time.sleep(float(sys.argv[1]))
"""

_ECHO = "import sys; line = sys.stdin.readline(); print('read', line); print(line, file=open(sys.argv[1], 'a'))"


class BackendKit:
    """Each test places real processes and looks for them in the process table."""

    deadline_s = 30.0

    @pytest.fixture
    def backend(self) -> Backend:
        raise NotImplementedError("give the kit a backend")

    @pytest.fixture
    def again(self, backend: Backend) -> Callable[[], Backend]:
        raise NotImplementedError("give the kit a way to make the backend again")

    @pytest.fixture
    def work(self, tmp_path: Path) -> Path:
        folder = tmp_path / "kit-work"
        folder.mkdir()
        return folder

    def test_plan_prints_what_will_happen_without_credentials(self, backend: Backend, work: Path) -> None:
        text = str(backend.plan(placement(work, "pass", nodes=2)))
        assert sys.executable in text
        assert "secret-token" not in text

    def test_each_agent_gets_its_own_order_on_standard_input(self, backend: Backend, work: Path) -> None:
        placed = placement(work, _ECHO, nodes=3, arguments=(str(work / "orders"),))
        handle = backend.submit(backend.plan(placed))
        assert self.end_of(backend, handle).state is AgentState.DONE
        lines = [line for line in (work / "orders").read_text().splitlines() if line]
        assert sorted(json.loads(line)["node"] for line in lines) == [0, 1, 2]

    def test_agents_carry_the_marker_and_the_variables(self, backend: Backend, work: Path) -> None:
        script = (
            f"import os; print(os.environ['{ATTEMPT_VARIABLE}'], os.environ['EXTRA'], file=open('{work}/seen', 'w'))"
        )
        placed = placement(work, script, variables={"EXTRA": "given"})
        handle = backend.submit(backend.plan(placed))
        assert self.end_of(backend, handle).state is AgentState.DONE
        assert (work / "seen").read_text().split() == [placed.attempt_id, "given"]

    def test_a_failing_agent_is_failed_with_its_exit_code(self, backend: Backend, work: Path) -> None:
        handle = backend.submit(backend.plan(placement(work, "raise SystemExit(7)")))
        seen = self.end_of(backend, handle)
        assert seen.state is AgentState.FAILED
        assert "7" in seen.detail

    def test_one_failed_node_fails_the_attempt(self, backend: Backend, work: Path) -> None:
        script = "import json, sys; sys.exit(json.loads(sys.stdin.readline())['node'] == 1)"
        handle = backend.submit(backend.plan(placement(work, script, nodes=3)))
        assert self.end_of(backend, handle).state is AgentState.FAILED

    def test_what_is_not_known_is_lost(self, backend: Backend) -> None:
        assert backend.observe(["0" * 32])["0" * 32].state is AgentState.LOST

    def test_observe_answers_for_every_handle(self, backend: Backend, work: Path) -> None:
        handles = [backend.submit(backend.plan(placement(work, "pass"))) for _ in range(3)]
        assert set(backend.observe([*handles, "nobody"])) == {*handles, "nobody"}
        assert backend.observe([]) == {}

    def test_submitting_twice_places_once(self, backend: Backend, work: Path, again: Callable[[], Backend]) -> None:
        script = f"import os, time; open('{work}/pid-agent-' + str(os.getpid()), 'w').close(); time.sleep(600)"
        placed = placement(work, script)
        handle = backend.submit(backend.plan(placed))
        self.pids(work, 1)
        assert backend.submit(backend.plan(placed)) == handle
        assert again().submit(again().plan(placed)) == handle
        assert len(self.pids(work, 1)) == 1
        self.cancel_and_see_nothing_left(backend, handle, work, 1, grace_s=0)
        assert backend.submit(backend.plan(placed)) == handle  # also when it is over
        assert backend.observe([handle])[handle].state in _OVER

    def test_cancel_asks_first(self, backend: Backend, work: Path) -> None:
        script = (
            "import os, signal, sys, time\n"
            f"signal.signal(signal.SIGTERM, lambda *_: (open('{work}/asked', 'w').close(), sys.exit(0)))\n"
            f"open('{work}/pid-agent-' + str(os.getpid()), 'w').close(); time.sleep(600)"
        )
        handle = backend.submit(backend.plan(placement(work, script)))
        self.cancel_and_see_nothing_left(backend, handle, work, 1, grace_s=20)
        assert (work / "asked").exists()

    @pytest.mark.parametrize("grace_s", [0, 0.5])
    def test_cancel_leaves_no_daemon(self, backend: Backend, work: Path, grace_s: float) -> None:
        handle = backend.submit(backend.plan(placement(work, _WITH_DAEMON, nodes=2, arguments=("600",))))
        self.cancel_and_see_nothing_left(backend, handle, work, 4, grace_s)

    def test_cancelling_twice_or_when_over_is_no_error(self, backend: Backend, work: Path) -> None:
        handle = backend.submit(backend.plan(placement(work, "import time; time.sleep(600)")))
        backend.cancel(handle, grace_s=5)
        backend.cancel(handle, grace_s=0)
        assert self.end_of(backend, handle).state in _OVER
        backend.cancel(handle)
        backend.cancel("0" * 32)

    def test_a_killed_agent_takes_its_processes_along(self, backend: Backend, work: Path) -> None:
        handle = backend.submit(backend.plan(placement(work, _WITH_DAEMON, arguments=("600",))))
        pids = self.pids(work, 2)
        os.kill(next(pid for name, pid in pids if "agent" in name), 9)
        assert self.end_of(backend, handle).state is AgentState.FAILED
        assert not self.living(pids)

    def test_an_agent_that_ends_takes_its_daemons_along(self, backend: Backend, work: Path) -> None:
        handle = backend.submit(backend.plan(placement(work, _WITH_DAEMON, arguments=("0",))))
        assert self.end_of(backend, handle).state is AgentState.DONE
        assert not self.living(self.pids(work, 2))

    def test_a_new_backend_object_knows_the_attempts_of_the_last(
        self, backend: Backend, again: Callable[[], Backend], work: Path
    ) -> None:
        done = backend.submit(backend.plan(placement(work, "pass")))
        runs = backend.submit(backend.plan(placement(work, _WITH_DAEMON, arguments=("600",))))
        self.pids(work, 2)
        self.end_of(backend, done)
        other = again()
        seen = other.observe([done, runs])
        assert (seen[done].state, seen[runs].state) == (AgentState.DONE, AgentState.RUNNING)
        self.cancel_and_see_nothing_left(other, runs, work, 2, grace_s=0)

    def test_logs_are_what_the_agents_wrote(self, backend: Backend, work: Path) -> None:
        script = "import sys; print('out of node'); print('and its errors', file=sys.stderr)"
        handle = backend.submit(backend.plan(placement(work, script, nodes=2)))
        self.end_of(backend, handle)
        text = backend.logs(handle)
        assert text.count("out of node") == 2
        assert text.count("and its errors") == 2
        assert backend.logs("0" * 32) == ""

    # Looking

    def end_of(self, backend: Backend, handle: str) -> Observed:
        return self.wait_for(lambda: next(iter(_over(backend.observe([handle])[handle])), None))

    def pids(self, work: Path, count: int) -> list[tuple[str, int]]:
        """What the processes noted of themselves, once there are that many."""

        def look() -> list[tuple[str, int]] | None:
            names = sorted(path.name for path in work.glob("pid-*"))
            return [(name, int(name.rpartition("-")[2])) for name in names] if len(names) >= count else None

        return self.wait_for(look)

    def living(self, pids: list[tuple[str, int]]) -> list[int]:
        return [pid for _, pid in pids if _runs(pid)]

    def cancel_and_see_nothing_left(
        self, backend: Backend, handle: str, work: Path, count: int, grace_s: float
    ) -> None:
        pids = self.pids(work, count)
        assert len(self.living(pids)) == count
        backend.cancel(handle, grace_s)
        assert self.end_of(backend, handle).state in _OVER
        assert not self.living(pids)

    def wait_for(self, look: Callable[[], T | None]) -> T:
        until = time.monotonic() + self.deadline_s
        while (found := look()) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"Waited {self.deadline_s} s for what did not come.")
            time.sleep(0.01)
        return found


def placement(
    work: Path, script: str, nodes: int = 1, arguments: tuple[str, ...] = (), variables: dict[str, str] | None = None
) -> Placement:
    """Python code in the agents' place."""
    attempt_id = new_id()
    orders = tuple(AgentOrder(attempt_id, node, "secret-token", None, str(work), str(work)) for node in range(nodes))
    return Placement(attempt_id, (sys.executable, "-c", script, *arguments), orders, variables or {})


def _over(seen: Observed) -> list[Observed]:
    return [seen] if seen.state in _OVER else []


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except FileNotFoundError:
        return False
