"""The agent's one thread for the network: arrives, ships what grew, beats when nothing did.

Training never waits for it. When the service is away it tries again later from what the service has; what it ships is
on disk until then.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from trainyard.agent.changes import Changes
from trainyard.agent.streams import Tail, note
from trainyard.client.attempts import Attempts
from trainyard.contract.attempts import Arrival, Orders, ReportAnswer
from trainyard.contract.errors import AttemptOver, NotAllowed, NotAuthenticated, NotFound, TrainyardError
from trainyard.contract.frames import MAX_REPORT, Frame

HEARTBEAT_S = 2.0
_SERVING_S = 0.5  # of a node that only serves the others, and is to hear soon that they are done
_GATHER_S = 0.008  # a burst of lines travels together, often with the end of a short run
_LOG_EVERY_S = 0.02  # and a flood of them in steps of this
_METRICS_EVERY_S = 0.2
_STARTED_S = 0.1  # that a run has started travels with its first line, or with the end of a short run
_PAUSES_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
_ROOM = MAX_REPORT - (1 << 20)  # leaves space for headers and lists of files
_OVER = (AttemptOver, NotAuthenticated, NotAllowed, NotFound)  # the attempt, and its token, are no more


class Courier:
    """`stop` is called (from this thread) with a reason when the service wants the attempt ended."""

    def __init__(self, attempts: Attempts, arrival: Arrival, stop: Callable[[str], None]) -> None:
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)
        self.over = False  # the service wants nothing more from us
        self.done = False  # no node waits for a process any more
        self._heartbeat_s = HEARTBEAT_S
        self._attempts = attempts
        self._arrival = arrival
        self._stop = stop
        self.orders: Orders | None = None  # once arrived; None also then: the attempt is over
        self._arrived = False
        self._changes = Changes()
        self._tails: dict[str, Tail] = {}
        self._spool: str | None = None
        self._news: list[Frame] = []
        self._news_due = 0.0
        self._last: list[Frame] | None = None
        self._hurry = threading.Event()
        self._reported_at = 0.0
        self._failures = 0
        self._told = False

    # Called from the main thread.

    def start(self) -> None:
        self._thread.start()

    def arrived(self) -> bool:
        """Whether every node is there, or the attempt is over. The main thread is woken when it becomes so."""
        return self._arrived

    def carry(self, tails: list[Tail], spool: str, news: list[Frame]) -> None:
        """From now on ship these streams and every tape in the folder `spool`."""
        for tail in tails:
            self._tails.setdefault(tail.path, tail)
        if self._spool is None:
            self._changes.watch_folder(spool)
        self._spool = spool
        self._news = [*self._news, *news]
        self._news_due = time.monotonic() + _STARTED_S
        if news:
            self._changes.wake()

    def tell(self, news: list[Frame]) -> None:
        self._news = [*self._news, *news]
        self._news_due = 0.0
        self._changes.wake()

    def tell_done(self) -> None:
        """No process here is waited for any more; those that are left serve the others until `done`."""
        self._heartbeat_s = _SERVING_S
        self.tell([Frame("done")])

    def finish(self, last: list[Frame]) -> None:
        """Nothing grows any more: ship the rest together with `last`, however long that takes."""
        self._last = last
        self._hurry.set()
        self._changes.wake()
        self._thread.join()
        self._changes.close()

    # The thread.

    def _run(self) -> None:
        while not self.over and (self.orders is None or not (self.orders.go or self.orders.cancel)):
            self._arrive()
        self._arrived = True
        _wake_main_thread()
        while not self.over:
            self._watch()
            if self._worth_reporting():
                if self._report():
                    return
            else:
                due = [self._reported_at + self._heartbeat_s, *([self._news_due] if self._news else [])]
                self._changes.wait(min(due) - time.monotonic())
                if self._last is None:
                    self._settle()

    def _arrive(self) -> None:
        try:
            self.orders = self._attempts.arrive(self._arrival)
            self._failures = 0
            self._reported_at = time.monotonic()
        except TrainyardError as error:
            self._failed(error)

    def _watch(self) -> None:
        """Before looking: what grows after the look then wakes us."""
        for path in _tapes(self._spool):
            if path not in self._tails:
                stream = f"node-{self._arrival.node}/{os.path.basename(path)}"
                self._tails[path] = Tail("metrics", stream, path)
        for tail in list(self._tails.values()):
            if tail.urgent and os.path.exists(tail.path):
                self._changes.watch_file(tail.path)

    def _worth_reporting(self) -> bool:
        now = time.monotonic()
        if self._last is not None or (self._news and now >= self._news_due):
            return True
        age = now - self._reported_at
        grown = {tail.kind for tail in list(self._tails.values()) if tail.urgent and tail.grown()}
        if grown == {"metrics"} and age < _METRICS_EVERY_S:
            self._hurry.wait(_LOG_EVERY_S)  # shipped soon, together with what comes until then
            return False
        return bool(grown) or age >= self._heartbeat_s

    def _settle(self) -> None:
        """A moment for what is written together to travel together."""
        age = time.monotonic() - self._reported_at
        self._hurry.wait(_GATHER_S if age > _LOG_EVERY_S else _LOG_EVERY_S - age)

    def _report(self) -> bool:
        """True when that was the last one."""
        last, news = self._last, self._news
        frames, more = self._gather(_ROOM - sum(len(frame.payload) for frame in news))
        closing = last is not None and not more
        try:
            answer = self._attempts.report(self._arrival.node, [*news, *frames, *((last or []) if closing else [])])
        except TrainyardError as error:
            self._failed(error)
            return False
        self._failures = 0
        self._reported_at = time.monotonic()
        self._news = self._news[len(news) :]
        return self._take(answer, frames) and closing

    def _gather(self, room: int) -> tuple[list[Frame], bool]:
        """What to ship now, and whether there is more than fits."""
        frames: list[Frame] = []
        tails = list(self._tails.values())
        for tail in tails:
            if room > 0 and (frame := tail.read(room)) is not None:
                frames.append(frame)
                room -= len(frame.payload)
        shipped = {frame.header["stream"]: len(frame.payload) for frame in frames}
        more = any(os.path.exists(tail.path) and self._left(tail, shipped.get(tail.stream, 0)) for tail in tails)
        return frames, more

    def _left(self, tail: Tail, shipping: int) -> bool:
        left = os.path.getsize(tail.path) - tail.sent - shipping
        if tail.is_tape and shipping == 0:
            return left > 0 and tail.grown()  # a torn record at the end never becomes whole
        return left > 0

    def _take(self, answer: ReportAnswer, frames: list[Frame]) -> bool:
        """Whether the service has all that was sent."""
        by_stream = {tail.stream: tail for tail in list(self._tails.values())}
        whole = True
        for frame in frames:
            tail = by_stream[frame.header["stream"]]
            end = int(frame.header["offset"]) + len(frame.payload)
            tail.sent = answer.acked.get(tail.stream, end)
            whole = whole and tail.sent >= end
        if answer.done and not self.done:
            self.done = True
            _wake_main_thread()
        if answer.cancel and not self._told:
            self._told = True
            self._stop(answer.reason or "The service asked for the end of the attempt.")
        return whole

    def _failed(self, error: TrainyardError) -> None:
        if isinstance(error, _OVER):
            self.over = True
            self._stop(error.message)
            return
        if self._failures == 0:
            note(f"{error.code}: {error.message} Trying again.")
        time.sleep(_PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)])
        self._failures += 1


def _wake_main_thread() -> None:
    os.kill(os.getpid(), signal.SIGCHLD)


def _tapes(spool: str | None) -> list[str]:
    if spool is None:
        return []
    return [entry.path for entry in os.scandir(spool) if entry.name.endswith(".tape")]
