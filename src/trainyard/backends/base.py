"""The backend port: five verbs that place agents on nodes, and what each promises.

Concurrency: one caller at a time per attempt, any number of attempts at once, from any thread; and again from a new
process after the last one was killed. A backend keeps nothing in memory that it cannot find again from its engine.

1. `plan` is pure. It prints exactly what `submit` will do, without credentials.
2. `submit` places one agent per node, all or none, and returns a handle. The attempt's id is its key: submitting an
   attempt that is already placed returns the same handle and places nothing. Each agent gets its order as one JSON line
   on standard input.
3. `observe` takes many handles and costs about one call to the engine. A handle the engine does not know is LOST.
4. `cancel` ends all processes of all agents of an attempt: first asked (SIGTERM to each agent, which ends its processes
   and reports), after `grace_s` by force; with 0 by force at once. It returns at once, may be repeated, and cancelling
   what is over is not an error. After it nothing of the attempt is left, daemonised grandchildren included.
5. `logs` is what the agents themselves wrote, for people who look into why an attempt did not come up.

An agent that dies takes its processes with it: a backend leaves none behind, however the agent ended.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from trainyard.contract.attempts import AgentOrder
from trainyard.contract.states import AgentState


@dataclass(frozen=True)
class Placement:
    """The agents of one attempt: the same program on every node, an order for each."""

    attempt_id: str
    argv: tuple[str, ...]
    orders: tuple[AgentOrder, ...]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> int:
        return len(self.orders)


@dataclass(frozen=True)
class Plan:
    """What will happen, printable. Engines with more to say (a batch script) have their own subclass."""

    placement: Placement

    def __str__(self) -> str:
        return f"$ {shlex.join(self.placement.argv)}  # on {self.placement.nodes} node(s)"


@dataclass(frozen=True)
class Observed:
    state: AgentState
    detail: str = ""  # the engine's own words: an exit code, a reason for waiting


class Backend(ABC):
    shares_files: bool  # whether its nodes see the service's folders

    @abstractmethod
    def plan(self, placement: Placement) -> Plan: ...

    @abstractmethod
    def submit(self, plan: Plan) -> str: ...

    @abstractmethod
    def observe(self, handles: Sequence[str]) -> dict[str, Observed]: ...

    @abstractmethod
    def cancel(self, handle: str, grace_s: float = 10.0) -> None: ...

    @abstractmethod
    def logs(self, handle: str) -> str: ...

    def close(self) -> None:  # noqa: B027  most engines outlive the service and have nothing to let go
        """The service stops and nothing runs: end helper processes that exist for it alone."""
