"""Agents on this machine, forked by the home's guardian (see trainyard.agent.guardian), which is started if need be."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from trainyard import __version__
from trainyard.backends.base import Backend, Observed, Placement, Plan
from trainyard.contract.codec import to_json
from trainyard.contract.errors import BackendRefused, TrainyardError
from trainyard.contract.locks import locked
from trainyard.contract.states import AgentState

_START_DEADLINE_S = 30.0
_ANSWER_DEADLINE_S = 30.0
_TRIES = 4


def agent_argv() -> tuple[str, ...]:
    """The agent's program on this machine."""
    return (sys.executable, "-m", "trainyard.agent")


class Local(Backend):
    """`isolated`: treat this machine's nodes as if they shared no folder with the service."""

    def __init__(self, home: str, isolated: bool = False) -> None:
        self._home = os.path.abspath(home)
        self.shares_files = not isolated

    def plan(self, placement: Placement) -> Plan:
        return Plan(placement)

    def submit(self, plan: Plan) -> str:
        placement = plan.placement
        request = {
            "verb": "place",
            "version": __version__,
            "attempt_id": placement.attempt_id,
            "argv": placement.argv,
            "orders": placement.orders,
            "variables": placement.variables,
        }
        for _ in range(_TRIES):
            if self._ask(request) == "placed":
                return placement.attempt_id
            time.sleep(0.05)  # a guardian of another version makes way for ours
        raise BackendRefused("The guardian of another version does not end. Run `trainyard stop`, then submit again.")

    def observe(self, handles: Sequence[str]) -> dict[str, Observed]:
        seen = self._ask({"verb": "observe", "ids": list(handles)}) if handles else {}
        lost = Observed(AgentState.LOST, "no such attempt on this machine")
        return {
            handle: Observed(AgentState(seen[handle][0]), seen[handle][1]) if handle in seen else lost
            for handle in handles
        }

    def cancel(self, handle: str, grace_s: float = 10.0) -> None:
        self._ask({"verb": "cancel", "id": handle, "grace_s": grace_s})

    def logs(self, handle: str) -> str:
        return str(self._ask({"verb": "logs", "id": handle}))

    def close(self) -> None:
        """Ends the guardian once nothing runs; without one there is nothing to do."""
        with contextlib.suppress(OSError):
            self._exchange({"verb": "stop"})

    def _ask(self, request: dict[str, Any]) -> Any:
        """Every request may be sent twice without harm, so a guardian that was killed meanwhile is simply replaced."""
        failed: OSError | None = None
        for _ in range(_TRIES):
            try:
                return self._exchange(request)
            except OSError as error:
                failed = error
                self._ensure_guardian()
        raise BackendRefused(
            f"The guardian of {self._home} does not answer: {failed}. The end of its log:\n{self._log_tail()}"
        ) from failed

    def _exchange(self, request: dict[str, Any]) -> Any:
        with open(self._file("guardian.addr"), encoding="utf-8") as file:
            address = file.read()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_DEADLINE_S)
            connection.connect(address)
            connection.sendall(json.dumps(to_json(request)).encode() + b"\n")
            answer = bytearray()
            while not answer.endswith(b"\n"):
                if not (data := connection.recv(1 << 16)):
                    raise ConnectionResetError("it closed the connection")
                answer += data
        said = json.loads(answer)
        if "error" in said:
            raise TrainyardError.from_json(said["error"])
        return said["answer"]

    def _ensure_guardian(self) -> None:
        os.makedirs(self._home, mode=0o700, exist_ok=True)
        with locked(self._file("guardian.start.lock")):
            if self._listens():
                return  # somebody else was quicker
            with open(self._file("guardian.log"), "ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "trainyard.agent.guardian", "--home", self._home],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    cwd="/",
                )
            until = time.monotonic() + _START_DEADLINE_S
            while time.monotonic() < until and not self._listens():
                if process.poll() not in (None, 0):  # 0: one that is on its way out still held the lock
                    break
                time.sleep(0.005)
        _reap_later(process)

    def _listens(self) -> bool:
        try:
            self._exchange({"verb": "observe", "ids": []})
        except OSError:
            return False
        return True

    def _file(self, name: str) -> str:
        return os.path.join(self._home, name)

    def _log_tail(self) -> str:
        try:
            with open(self._file("guardian.log"), "rb") as file:
                return "\n".join(file.read()[-8192:].decode("utf-8", "replace").splitlines()[-10:])
        except OSError:
            return "(there is none)"


def _reap_later(process: subprocess.Popen[bytes]) -> None:
    """The guardian outlives us; if it ends first, somebody has to take its status."""
    import threading

    threading.Thread(target=process.wait, name="guardian-status", daemon=True).start()
