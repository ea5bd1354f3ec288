"""A home, a fake service and the local backend, for tests that let whole attempts live."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainyard.backends.base import Placement
from trainyard.backends.local import Local, agent_argv
from trainyard.blobs.snapshot import take
from trainyard.contract.attempts import AgentOrder, Orders
from trainyard.contract.names import new_id
from trainyard.contract.runs import EnvironmentSpec, RunSpec
from trainyard.contract.states import AgentState
from trainyard.testing.fake_service import FakeService, Heard

DRIVER = "azureml-logs/70_driver_log.txt"


@dataclass
class Yard:
    root: Path
    service: FakeService
    backend: Local
    shared: bool = True
    handles: list[str] = field(default_factory=list)

    def spec(self, code: str, /, **changes: object) -> RunSpec:
        """A run of this Python code, with the test's own interpreter."""
        source = self.root / "sources" / new_id()
        source.mkdir(parents=True)
        (source / "train.py").write_text(code)
        snapshot = take(str(source), self.service.store)
        spec = RunSpec(
            script="train.py",
            environment=EnvironmentSpec(user_managed=True, interpreter=sys.executable),
            inherited={"PATH": os.environ["PATH"]},
            snapshot_id=snapshot.id,
        )
        return replace(spec, **changes)  # type: ignore[arg-type]

    def submit(self, spec: RunSpec, nodes: int = 1, **orders: object) -> str:
        attempt_id = new_id()
        given = Orders(
            go=True,
            run_id="first_1_abcd1234",
            workspace_id="w-id",
            workspace_name="yard",
            subscription_id="sub",
            resource_group="group",
            experiment="first",
            experiment_id="e-id",
            target_kind="AmlCompute",
            spec=spec,
        )
        self.service.expect(attempt_id, replace(given, **orders), nodes)  # type: ignore[arg-type]
        placed = Placement(
            attempt_id, agent_argv(), tuple(self.order(attempt_id, node, spec.ports) for node in range(nodes))
        )
        self.handles.append(self.backend.submit(self.backend.plan(placed)))
        return attempt_id

    def order(self, attempt_id: str, node: int, ports: int = 0) -> AgentOrder:
        work = self.root / "work" / attempt_id
        return AgentOrder(
            attempt_id=attempt_id,
            node=node,
            token="token",
            endpoint=self.service.url,
            home=str(self.root / "home"),
            work=str(work if self.shared else work / f"alone-{node}"),
            shared_blobs=str(self.root / "blobs") if self.shared else None,
            ports=ports,
        )

    def final(self, attempt_id: str) -> Heard:
        """Everything the attempt said, once it has said all and its agents are gone."""
        heard = self.service.wait_final(attempt_id)
        self.gone(attempt_id)
        return heard

    def run(self, code: str, /, nodes: int = 1, **changes: object) -> Heard:
        return self.final(self.submit(self.spec(code, **changes), nodes))

    def gone(self, attempt_id: str, state: AgentState = AgentState.DONE) -> None:
        until = time.monotonic() + 30
        while (seen := self.backend.observe([attempt_id])[attempt_id]).state is AgentState.RUNNING:
            assert time.monotonic() < until, self.backend.logs(attempt_id)
            time.sleep(0.005)
        assert seen.state is state, (seen, self.backend.logs(attempt_id))

    def guardian(self) -> int:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect((self.root / "home" / "guardian.addr").read_text())
            connection.sendall(b'{"verb": "list"}\n')
            return int(json.loads(connection.makefile().readline())["answer"]["pid"])

    def close(self) -> None:
        for handle in self.handles:
            self.backend.cancel(handle, grace_s=0)
        self.service.die()
        if self.handles:
            fd = os.pidfd_open(self.guardian())
            self.backend.close()
            assert select.select([fd], [], [], 10)[0]
            os.close(fd)


def kill_and_wait(pid: int) -> None:
    fd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([fd], [], [], 10)
    os.close(fd)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except FileNotFoundError:
        return False
