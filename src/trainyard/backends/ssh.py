"""Agents on an attached machine, over SSH: that machine's own guardian starts them (see far_end), and a port of it
leads back to the service, so that it needs no address of ours. A connection that breaks is made again; the agents go on
meanwhile and keep what they have to say."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import threading
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from trainyard.backends.base import Backend, Observed, Placement, Plan
from trainyard.backends.far_end import AGENT
from trainyard.backends.local import agent_argv
from trainyard.backends.ssh_channel import Channel, Machine
from trainyard.contract.attempts import AgentOrder
from trainyard.contract.codec import to_json
from trainyard.contract.errors import BackendAway, TrainyardError
from trainyard.contract.states import AgentState

_PORTS = range(23_000, 60_000)
_CLOSE_S = 5.0
_TRIES = 3  # ports of the machine, before one is ours


class Ssh(Backend):
    """`home` is the service's; what the connection has to remember is below its `ssh`. `service` says where the service
    listens (None: agents get the address that their orders name). `patience_s`: how long a caller waits for a
    connection that is being made."""

    shares_files = False

    def __init__(
        self,
        machine: Machine,
        home: str,
        service: Callable[[], str] | None = None,
        patience_s: float = 2.0,
    ) -> None:
        self._machine = machine
        self._home = os.path.abspath(home)
        self._service = service
        self._patience_s = patience_s
        self._identity = hashlib.sha256(f"{self._home}\0{machine}".encode()).hexdigest()[:16]
        self._folder = os.path.join(self._home, "ssh")
        self._lock = threading.Lock()
        self._channel: Channel | None = None
        self._connecting: threading.Thread | None = None
        self._trouble: TrainyardError | None = None
        self._back: int | None = None  # the port there that leads back

    def hello(self) -> dict[str, Any]:
        """What the machine is: cores, memory_gb, gpus, host, python."""
        return dict(self._connected().hello)

    def plan(self, placement: Placement) -> Plan:
        return Plan(placement)

    def submit(self, plan: Plan) -> str:
        channel = self._connected()
        placement = self._for_there(plan.placement, str(channel.hello["home"]))
        return str(channel.ask({"verb": "submit", "placement": to_json(placement)}))

    def observe(self, handles: Sequence[str]) -> dict[str, Observed]:
        if not handles:
            return {}
        seen = self._ask({"verb": "observe", "handles": list(handles)})
        return {handle: Observed(AgentState(state), detail) for handle, (state, detail) in seen.items()}

    def cancel(self, handle: str, grace_s: float = 10.0) -> None:
        self._ask({"verb": "cancel", "handle": handle, "grace_s": grace_s})

    def logs(self, handle: str) -> str:
        return str(self._ask({"verb": "logs", "handle": handle}))

    def close(self) -> None:
        with self._lock:
            if self._channel is not None:
                with contextlib.suppress(TrainyardError):
                    self._channel.ask({"verb": "close"}, _CLOSE_S)
                self._channel.close()
                self._channel = None

    def _ask(self, request: dict[str, Any]) -> Any:
        """Every request may be sent twice without harm."""
        try:
            return self._connected().ask(request)
        except BackendAway:
            return self._connected().ask(request)

    # The connection

    def _connected(self) -> Channel:
        with self._lock:
            if self._channel is not None:
                if self._channel.open:
                    return self._channel
                self._channel.close()
                self._channel = None
            if self._connecting is None or not self._connecting.is_alive():
                self._trouble = None
                self._connecting = threading.Thread(target=self._connect, name="ssh-connect", daemon=True)
                self._connecting.start()
            connecting = self._connecting
        connecting.join(self._patience_s)
        return self._made()

    def _made(self) -> Channel:
        with self._lock:
            if self._channel is None or not self._channel.open:
                raise self._trouble or BackendAway(f"{self._machine} is being connected; it takes longer than usual.")
            return self._channel

    def _connect(self) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        trouble: TrainyardError | None = None
        for _ in range(_TRIES):
            try:
                channel = self._make()
            except TrainyardError as error:
                trouble = error
                if "forwarding failed" not in error.message:
                    break
                self._forget_port()
            else:
                with self._lock:
                    self._channel = channel
                return
        with self._lock:
            self._trouble = trouble

    def _make(self) -> Channel:
        known_hosts = os.path.join(self._folder, "known_hosts")
        way_back = None
        if self._service is not None:
            self._back = self._port()
            way_back = self._back, urllib.parse.urlsplit(self._service()).netloc
        return Channel(self._machine, known_hosts, self._identity, way_back)

    def _port(self) -> int:
        """The same each time: agents that are there already call it."""
        with contextlib.suppress(OSError, ValueError), open(self._port_file, encoding="ascii") as file:
            return int(file.read())
        port = random.choice(_PORTS)  # noqa: S311 - any free one will do
        with open(self._port_file, "w", encoding="ascii") as file:
            file.write(str(port))
        return port

    def _forget_port(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._port_file)

    @property
    def _port_file(self) -> str:
        return os.path.join(self._folder, f"{self._identity}.port")

    # What differs there

    def _for_there(self, placement: Placement, home: str) -> Placement:
        argv = (AGENT,) if placement.argv == agent_argv() else placement.argv
        orders = tuple(self._order(order, home) for order in placement.orders)
        variables = {name: home if value == self._home else value for name, value in placement.variables.items()}
        return replace(placement, argv=argv, orders=orders, variables=variables)

    def _order(self, order: AgentOrder, home: str) -> AgentOrder:
        """An order that names the service's own folders gets ones of that machine."""
        if os.path.abspath(order.home) != self._home:
            return order
        endpoint = order.endpoint or (f"http://127.0.0.1:{self._back}" if self._back is not None else None)
        work = os.path.join(home, "work", order.attempt_id, f"node-{order.node}")
        return replace(order, endpoint=endpoint, home=home, work=work, shared_blobs=None)
