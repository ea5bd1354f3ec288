"""One scoring process, as the front sees it: started in the user's interpreter, spoken to over a Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from trainyard.scoring import wire
from trainyard.scoring.wire import Answer, Assignment, Request

GRACE_S = 5.0  # between the end of its socket and the end of its life
_STACKS_S = 0.2  # for a process to write down where it is
LATE_S = 1.0  # a worker interrupts run() itself at the limit; one that cannot is ended this much later


class WorkerDied(Exception):
    """The process ended while it worked on a request."""


class RanTooLong(WorkerDied):
    """It had to be ended, because run() could not be interrupted."""


class NotBegun(WorkerDied):
    """It ended before it came to this request: another process can take it."""


@dataclass(frozen=True)
class Launch:
    interpreter: str
    overlay: str
    variables: dict[str, str]
    assignment: Assignment
    log: int  # descriptor that takes what the worker prints


@dataclass(frozen=True)
class Ready:
    swagger: dict[str, Any]
    raw: bool
    batches: bool
    signatures: dict[str, Any] = field(default_factory=dict)


# what came of a batch: its answers, or why there are none, and how many milliseconds run() took
Done = Callable[["list[Answer] | WorkerDied", float], None]


@dataclass
class _Flight:
    done: Done
    limit_ms: int
    overdue: asyncio.TimerHandle | None = None  # set when the process comes to it


class Worker(asyncio.Protocol):
    """`on_end` is called once, when the process is gone."""

    def __init__(self, launch: Launch, on_end: Callable[[Worker], None]) -> None:
        self._launch = launch
        self._on_end = on_end
        self._frames = wire.Frames()
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[Ready] = self._loop.create_future()
        self._flights: dict[int, _Flight] = {}
        self._number = 0
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None  # the transport's, under a number that outlives it
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self.ready: Ready | None = None
        self.ready_at = 0.0
        self.first_mb = 0.0  # what it held then
        self.ended: str | None = None  # how, once it has
        self.leaving = False  # takes no more requests
        self._late = False

    @property
    def busy(self) -> int:
        return len(self._flights)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def takes_requests(self) -> bool:
        gone = self._transport is None or self._transport.is_closing()  # before its end is known it may break off
        return self.ready is not None and not self.leaving and self.ended is None and not gone

    async def start(self, init_timeout_s: float) -> Ready:
        """Until init() is over. Raises WorkerDied with its reason."""
        try:
            ours, theirs = socket.socketpair()
            self._socket = ours.dup()
        except OSError as error:
            self.ended = f"There is no socket for a scoring process: {error.strerror or error}."
            raise WorkerDied(self.ended) from error
        try:
            self._process = await asyncio.create_subprocess_exec(
                self._launch.interpreter,
                "-m",
                "trainyard.scoring",
                str(theirs.fileno()),
                str(os.getpid()),
                stdin=subprocess.DEVNULL,
                stdout=self._launch.log,
                stderr=self._launch.log,
                env=self._launch.variables,
                cwd=self._launch.overlay,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            self._socket.close()
            self.ended = f"The interpreter {self._launch.interpreter} cannot be started: {error.strerror or error}."
            raise WorkerDied(self.ended) from error
        finally:
            theirs.close()
        self._watch = asyncio.create_task(self._wait())
        ours.setblocking(False)
        transport, _ = await self._loop.create_connection(lambda: self, sock=ours)
        self._transport = transport
        self._transport.write(wire.pack({"kind": "open", "assignment": asdict(self._launch.assignment)}))
        try:
            self.ready = await asyncio.wait_for(asyncio.shield(self._opened), init_timeout_s)
        except TimeoutError as error:
            self.ended = f"init() did not return within {init_timeout_s:g} seconds; the log shows where it was."
            self._show_stacks()
            await asyncio.sleep(_STACKS_S)
            await self.stop(0.0)
            raise WorkerDied(self.ended) from error
        except WorkerDied:
            await self.stop(GRACE_S)
            raise
        except asyncio.CancelledError:
            self.kill()
            raise
        self.ready_at = self._loop.time()
        return self.ready

    def send(self, requests: list[Request], limit_ms: int, done: Done) -> None:
        """`done` is called once, whatever happens."""
        assert self._transport is not None
        self._number += 1
        self._flights[self._number] = _Flight(done, limit_ms)
        self._watch_the_clock()
        self._transport.write(wire.pack_requests(self._number, requests, limit_ms))

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """The end of its socket ends it; then it is made to end."""
        self.leaving = True
        if self._transport is not None and self._socket is not None:
            self._transport.close()
            self._socket.close()
        if self._watch is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._watch), grace_s)
            self.kill()
            await self._watch

    def kill(self) -> None:
        """With its whole group: what the scoring code started has no one else to work for."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def data_received(self, data: bytes) -> None:
        for head, payload in self._frames.feed(data):
            kind = head["kind"]
            if kind == "scored":
                flight = self._flights.pop(head["id"])
                if flight.overdue is not None:
                    flight.overdue.cancel()
                self._watch_the_clock()
                flight.done(wire.unpack_answers(head, payload), head["ms"])
            elif kind == "ready" and not self._opened.done():
                self._opened.set_result(Ready(head["swagger"], head["raw"], head["batches"], head["signatures"]))
            elif kind == "failed" and not self._opened.done():
                self.ended = str(head["error"])
                self._opened.set_exception(WorkerDied(self.ended))

    def _begun(self) -> Iterator[_Flight]:
        """The process takes requests in their order, so many at a time as it has threads."""
        return islice(self._flights.values(), self._launch.assignment.threads)

    def _watch_the_clock(self) -> None:
        for flight in self._begun():
            if flight.overdue is None:
                after = flight.limit_ms / 1000 + LATE_S
                flight.overdue = self._loop.call_later(after, self._give_up, flight.limit_ms)

    def _give_up(self, limit_ms: int) -> None:
        self.leaving = self._late = True
        self.ended = f"Scoring timeout after {limit_ms} ms; the scoring process could not be interrupted and was ended"
        self._show_stacks()
        self._loop.call_later(_STACKS_S, self.kill)

    def _show_stacks(self) -> None:
        """Into the log, by the process itself."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGUSR1)

    async def _wait(self) -> None:
        assert self._process is not None
        code = await self._process.wait()
        if self.ended is None:
            self.ended = f"The scoring process ended with {_ending(code)}"
        self._read_the_rest()
        begun = list(self._begun())
        why = RanTooLong if self._late else WorkerDied
        flights, self._flights = self._flights, {}
        for flight in flights.values():
            if flight.overdue is not None:
                flight.overdue.cancel()
            flight.done((why if flight in begun else NotBegun)(self.ended), 0.0)
        if not self._opened.done():
            self._opened.set_exception(WorkerDied(f"{self.ended} before init() was over."))
            self._opened.exception()  # nobody may be waiting any more
        if self._transport is not None:
            self._transport.close()
        self.kill()  # whatever it left behind in its group
        self._on_end(self)

    def _read_the_rest(self) -> None:
        """Answers that it gave before it died, and that were not read yet: a transport that fails to write drops them.
        Only after them is known which request it was at."""
        assert self._socket is not None
        with self._socket, contextlib.suppress(OSError):  # BlockingIOError: what it started has the other end, too
            while data := self._socket.recv(1 << 16, socket.MSG_DONTWAIT):
                self.data_received(data)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"signal {-code}"
