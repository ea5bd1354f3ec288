"""`python -m trainyard.serving.front FOLDER`: one deployed service.

It reads FOLDER/plan.json, answers at its address, and writes FOLDER/status.json and FOLDER/service.log. SIGHUP: read
the plan again and go over to it without a failed request, or end, for a plan of another address: who keeps it starts it
again there. SIGTERM: answer what was accepted, then end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn
import uvloop

from trainyard.contract.serving import ServicePlan
from trainyard.serving.app import make_app
from trainyard.serving.bodies import Bodies
from trainyard.serving.folder import AlreadyServed, Folder, FolderRefused
from trainyard.serving.gate import Gate
from trainyard.serving.journal import Journal
from trainyard.serving.metrics import Metrics
from trainyard.serving.rollover import Rollover
from trainyard.serving.router import Router

_DRAIN_S = 60.0  # for requests that were accepted; the plan's scoring timeout where that is longer


class Front:
    """The state that requests read, replaced part by part as plans come."""

    def __init__(self, folder: Folder, plan: ServicePlan, sock: socket.socket, journal: Journal) -> None:
        self.name = plan.name
        self.plan = plan
        self.folder = folder
        self.journal = journal
        self.router = Router(())
        self.failure: str | None = None
        self.bodies = Bodies(plan.body_limit)
        self.gate = Gate(plan.auth, plan.key_digests, plan.token_digests)
        self.counts = Metrics(plan.name)
        host, self._port = sock.getsockname()[:2]
        scheme = "https" if plan.certificate else "http"
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{self._port}"
        self.rollover = Rollover(self)
        self._sock = sock
        self._server = uvicorn.Server(
            uvicorn.Config(
                make_app(self, self.counts, journal),
                http="httptools",
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                ssl_certfile=plan.certificate,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=int(max(_DRAIN_S, plan.scoring_timeout_ms / 1000)),
            )
        )
        self._server.capture_signals = _no_signals  # type: ignore[method-assign]

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._read_again)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        self.journal.note(f"The service {self.name} listens at {self.url}.")
        self.rollover.begin(self.plan)
        await self._server.serve(sockets=[self._sock])
        await self.rollover.close()
        self.journal.note(f"The service {self.name} has ended.")

    def _read_again(self) -> None:
        try:
            plan = self.folder.plan()
        except FolderRefused as error:
            self.journal.note(f"The new plan is not followed: {error}")
            return
        if plan.port not in (0, self._port) or plan.host != self.plan.host:
            self.journal.note("The plan has another address: this front ends, to be started again there.")
            self._end()
            return
        self._renew(plan.certificate)
        self.plan = plan
        self.gate = Gate(plan.auth, plan.key_digests, plan.token_digests)
        self.bodies = Bodies(plan.body_limit, self.bodies)
        self.rollover.begin(plan)

    def _renew(self, certificate: str | None) -> None:
        """Connections from now on get the new one."""
        if certificate == self.plan.certificate:
            return
        context = self._server.config.ssl
        if certificate is None or context is None:
            self.journal.note("Between http and https it changes when the service is started again.")
            return
        try:
            context.load_cert_chain(certificate)
        except OSError as error:
            self.journal.note(f"The certificate stays what it was: {error}")

    def _end(self) -> None:
        self.journal.note("Ending: requests in work are answered first.")
        self._server.should_exit = True


@contextlib.contextmanager
def _no_signals() -> Iterator[None]:
    yield  # ours: see Front.run


def _many_connections() -> None:
    """Each is a descriptor; the usual limit of 1,024 is for programs that use select()."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(arguments: list[str]) -> int:
    _many_connections()
    folder = Folder(arguments[0])
    journal = Journal(folder.log)
    try:
        with folder.locked():
            plan = folder.plan()
            folder.check_certificate(plan)
            sock = folder.listen(plan)
            uvloop.run(_run(folder, plan, sock, journal))
    except AlreadyServed as error:
        print(error, file=sys.stderr)
        return 2
    except FolderRefused as error:
        journal.note(str(error))
        print(error, file=sys.stderr)
        folder.refuse(str(error))
        return 1
    return 0


async def _run(folder: Folder, plan: ServicePlan, sock: socket.socket, journal: Journal) -> Any:
    await Front(folder, plan, sock, journal).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
