"""Which agents were placed on this machine, and how they ended: small files, so that a new guardian knows as well.

- <home>/agents/<attempt>/placed: how many nodes; written before the first agent is forked.
- <home>/agents/<attempt>/node-<n>.pid: "pid start-time", written by the agent itself before anything else.
- <home>/agents/<attempt>/node-<n>.exit: its exit code.
- <home>/agents/<attempt>/node-<n>.log: what it wrote.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import time
from dataclasses import dataclass, field

from trainyard.agent import system
from trainyard.client.home import Home
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.states import AgentState

UNWATCHED = 255  # the exit code of an agent that ended while no guardian was there to see it
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_KEEP, _KEEP_S = 200, 86_400.0
_LOG_TAIL = 65_536


@dataclass
class Placed:
    """One agent. `code` is None while it lives; negative for a signal, as Python counts."""

    node: int
    pid: int
    code: int | None = None


@dataclass
class Attempt:
    id: str
    folder: str
    agents: list[Placed] = field(default_factory=list)
    groups: list[str | None] = field(default_factory=list)
    adopted: bool = False  # placed by a guardian before this one: its agents are not our children
    clean: bool = False  # every agent is gone and so is everything they started
    kill_at: float | None = None

    def alive(self) -> list[Placed]:
        return [agent for agent in self.agents if agent.code is None]

    def groups_of_the_dead(self) -> list[str | None]:
        return [group for agent, group in zip(self.agents, self.groups, strict=False) if agent.code is not None]

    def state(self) -> tuple[AgentState, str]:
        if not self.clean:
            return AgentState.RUNNING, ""
        bad = [f"node {agent.node}: {_words(agent.code)}" for agent in self.agents if agent.code != 0]
        return (AgentState.FAILED, "; ".join(bad)) if bad else (AgentState.DONE, "")

    def file(self, node: int, kind: str) -> str:
        return os.path.join(self.folder, f"node-{node}.{kind}")

    def ended(self, agent: Placed, code: int) -> None:
        agent.code = code
        if not os.path.exists(self.file(agent.node, "exit")):  # ours note it themselves, others cannot
            write_exit(self.file(agent.node, "exit"), code)


class Roster:
    def __init__(self, home: str) -> None:
        self._root = os.path.join(home, "agents")
        self.attempts: dict[str, Attempt] = {}
        os.makedirs(self._root, mode=0o700, exist_ok=True)

    def open(self, attempt_id: str, nodes: int) -> Attempt:
        """A new attempt, on disk before anything of it exists."""
        if not _ID.fullmatch(attempt_id):
            raise InvalidRequest(f"{attempt_id!r} is not an attempt's id. Ids are letters, digits, '-' and '_'.")
        attempt = Attempt(attempt_id, os.path.join(self._root, attempt_id))
        os.makedirs(attempt.folder, mode=0o700, exist_ok=True)
        with open(os.path.join(attempt.folder, "placed"), "w", encoding="ascii") as file:
            file.write(str(nodes))
        self.attempts[attempt_id] = attempt
        return attempt

    def drop(self, attempt: Attempt) -> None:
        """It was not placed after all: whoever asks again may place it."""
        self.attempts.pop(attempt.id, None)
        shutil.rmtree(attempt.folder, ignore_errors=True)

    def load(self) -> None:
        """What the guardian before us knew, brought up to date."""
        for name in os.listdir(self._root):
            attempt = Attempt(name, os.path.join(self._root, name))
            try:
                with open(os.path.join(attempt.folder, "placed"), encoding="ascii") as file:
                    nodes = int(file.read())
            except (OSError, ValueError):
                shutil.rmtree(attempt.folder, ignore_errors=True)  # killed before it had placed anything
                continue
            attempt.agents = [_found(attempt, node) for node in range(nodes)]
            self.attempts[name] = attempt

    def prune(self) -> None:
        """Forget attempts that are long over, but for the latest."""
        over = [attempt for attempt in self.attempts.values() if attempt.clean]
        over.sort(key=lambda attempt: _modified(attempt.folder), reverse=True)
        for attempt in over[_KEEP:]:
            if time.time() - _modified(attempt.folder) > _KEEP_S:
                self.drop(attempt)

    def logs(self, attempt_id: str) -> str:
        attempt = self.attempts.get(attempt_id)
        if attempt is None:
            return ""
        parts = []
        for agent in attempt.agents:
            with contextlib.suppress(OSError), open(attempt.file(agent.node, "log"), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_TAIL))
                parts.append(f"--- node {agent.node}\n{file.read().decode('utf-8', 'replace')}")
        return "\n".join(parts)


def guardian_of(home: Home) -> set[int]:
    """The process id of a home's guardian, if it has one."""
    try:
        with open(home.file("guardian.lock"), encoding="ascii") as file:
            said = file.read()
    except OSError:
        return set()
    return {int(said)} if said.isdigit() and home.locked("guardian.lock") else set()


def write_pid(path: str) -> None:
    """By an agent, of itself."""
    _note(path, f"{os.getpid()} {system.start_time(os.getpid())}")


def write_exit(path: str, code: int) -> None:
    _note(path, str(code))


def noted_exit(path: str) -> int:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return UNWATCHED


def _note(path: str, text: str) -> None:
    # a full disk loses the note, not the agent; the guardian has it in memory
    with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
        file.write(text)


def _found(attempt: Attempt, node: int) -> Placed:
    """An agent of before: alive only if its process is the very same."""
    try:
        with open(attempt.file(node, "pid"), encoding="ascii") as file:
            pid, started = file.read().split(" ")
    except (OSError, ValueError):
        return Placed(node, 0, UNWATCHED)  # the guardian was killed before it forked this one
    if system.start_time(int(pid)) == started:
        return Placed(node, int(pid))
    return Placed(node, int(pid), noted_exit(attempt.file(node, "exit")))


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _words(code: int | None) -> str:
    if code == UNWATCHED:
        return "ended while nobody watched"
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
