"""wait_for_completion: follows a run to its end, with its output as it is written.

A thread follows the log that people want to read and hands over what comes; here it is printed, and a later log that
appears takes its place. Bytes are asked for by offset, so nothing is fetched twice, and a service that was killed and
is back goes on where it was.
"""

from __future__ import annotations

import codecs
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from trainyard.client.runs import Runs
from trainyard.contract import logs
from trainyard.contract.runs import RunRecord
from trainyard.contract.states import TERMINAL, RunState
from trainyard.sdk.errors import ServiceException
from trainyard.sdk.runs.following import DONE, Away, followed
from trainyard.sdk.runs.rank_logs import RankLogs, chosen_ranks, processes_of, title
from trainyard.sdk.runs.screen import Screen

_SHORTEST_LOOK_S, _LONGEST_LOOK_S = 0.01, 1.0
_TICK_S = 1.0  # how often a terminal is told how long the run has been running


def wait_for_end(runs: Runs, record: RunRecord) -> RunRecord:
    """The record of the ended run."""
    away = Away()
    while record.state not in TERMINAL:
        try:
            record = runs.wait(record.run_id, record.events)
            away.back()
        except (ServiceException, OSError) as error:
            away.endure(error)
    return record


def stream_to_end(runs: Runs, record: RunRecord, out: TextIO, ranks: Sequence[int] | None = None) -> RunRecord:
    """Prints the run's logs until it has ended. `ranks`: of these processes only, where there are several."""
    shown = chosen_ranks(record, ranks)
    screen = Screen(out)
    try:
        return _stream(runs, record, screen, shown)
    finally:
        screen.close()


def lines_of(runs: Runs, run_id: str, name: str) -> Iterator[str]:
    """The lines of one log as they are written, until the run is over."""
    follower, decode, begun = Follower(runs, run_id, name), _decoder(), ""
    try:
        while (chunk := follower.chunks.get()) is not DONE:
            if isinstance(chunk, Exception):
                raise chunk
            *lines, begun = (begun + decode(chunk)).split("\n")
            yield from lines
        if begun:
            yield begun
    finally:
        follower.stopped.set()


def _stream(runs: Runs, record: RunRecord, screen: Screen, shown: tuple[int, ...]) -> RunRecord:
    follower: Follower | RankLogs | None = None
    printer = _Printer(screen)
    away = Away()
    look_s = _SHORTEST_LOOK_S
    while True:
        try:
            best = wanted_log([file.name for file in runs.files(record.run_id)], printer.shown)
            if best is None:
                if record.state in TERMINAL:
                    return record
                screen.progress(record)
                before, record = record.events, runs.wait(record.run_id, record.events, look_s)
                # the log comes right after the news that it will: look often then, and ever less while nothing happens
                look_s = min(_LONGEST_LOOK_S, look_s * 1.5) if record.events == before else _SHORTEST_LOOK_S
                continue
            taken_over = follower is not None and follower.name != best
            rest = follower.rest() if follower is not None and taken_over else b""
            away.back()
        except (ServiceException, OSError) as error:
            away.endure(error)
            continue
        # nothing is printed above: an output that is closed is no service that is away
        if follower is None or taken_over:
            merged = shown if _is_driver(best) else ()
            printer.change(rest, best, title(record, merged) if merged else best)
            printer.shown |= {logs.of_rank(rank) for rank in range(processes_of(record))} if merged else set()
            follower = RankLogs(runs, record.run_id, merged, best) if merged else Follower(runs, record.run_id, best)
        # before the driver's log there are later ones to look for; after it there is only the end
        if printer.follow(follower, None if _is_driver(follower.name) else look_s, record):
            screen.progress(record, RunState.FINALIZING)
            record = wait_for_end(runs, record)
            best = wanted_log([file.name for file in runs.files(record.run_id)], printer.shown)
            if best is None or best in printer.shown:
                return record
        look_s = min(_LONGEST_LOOK_S, look_s * 1.5)


def stream_one(runs: Runs, record: RunRecord, name: str, out: TextIO) -> RunRecord:
    """Prints one log until the run has ended."""
    away = Away()
    while True:
        try:
            if any(file.name == name for file in runs.files(record.run_id)):
                break
            record = runs.wait(record.run_id, record.events, _SHORTEST_LOOK_S * 5)
            if record.state in TERMINAL:
                return record
        except (ServiceException, OSError) as error:
            away.endure(error)
    screen = Screen(out)
    printer = _Printer(screen)
    try:
        printer.change(b"", name, name)
        printer.follow(Follower(runs, record.run_id, name), None, record)
    finally:
        screen.close()
    return wait_for_end(runs, record)


def wanted_log(names: list[str], shown: set[str]) -> str | None:
    """The SDK's choice, the last of the logs; but what the user's own program wrote is never passed over, however soon
    the logs after it come."""
    driver = logs.streamed(name for name in names if _is_driver(name))
    return driver if driver is not None and driver not in shown else logs.streamed(names)


def _is_driver(name: str) -> bool:
    return name.startswith((logs.DRIVER.removesuffix(".txt"), "user_logs/"))


class Follower:
    """One log, followed by a thread until the run is over."""

    def __init__(self, runs: Runs, run_id: str, name: str) -> None:
        self.run_id, self.name = run_id, name
        self.chunks: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        self.offset = 0  # of what was taken out of the queue
        self.stopped = threading.Event()
        self._runs = runs
        threading.Thread(target=self._work, name=f"trainyard-follow-{name}", daemon=True).start()

    def rest(self) -> bytes:
        """A later log takes over: what this one has left."""
        self.stopped.set()
        return self._runs.read_log(self.run_id, self.name, self.offset)

    def _work(self) -> None:
        try:
            for data in followed(self._runs, self.run_id, self.name, self.stopped):
                self.chunks.put(data)
            self.chunks.put(DONE)
        except Exception as error:  # noqa: BLE001 - whatever it is, the reader raises it; a silent thread would hang it
            self.chunks.put(error)


class _Printer:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.shown: set[str] = set()
        self._decode: Callable[[bytes], str] = _decoder()

    def change(self, rest: bytes, name: str, heading: str) -> None:
        """The last of one log, and the head of the next."""
        self._screen.write(self._decode(rest))
        self.shown.add(name)
        self._decode = _decoder()
        self._screen.heading(f"\nStreaming {heading}\n{'=' * (len(heading) + 10)}\n")

    def follow(self, follower: Follower | RankLogs, timeout_s: float | None, record: RunRecord) -> bool:
        """Prints what comes until there is a pause of `timeout_s`. True when the log and its run are over."""
        running = RunState.RUNNING if _is_driver(follower.name) else None
        while True:
            try:
                chunk = follower.chunks.get(timeout=_TICK_S if timeout_s is None and self._screen.live else timeout_s)
            except queue.Empty:
                self._screen.progress(record, running)
                if timeout_s is None:
                    continue
                return False
            if chunk is DONE:
                return True
            if isinstance(chunk, Exception):
                raise chunk
            follower.offset += len(chunk)
            self._screen.write(self._decode(chunk))
            if timeout_s is not None and follower.chunks.empty():
                return False


def _decoder() -> Callable[[bytes], str]:
    """Bytes to text as they come: a character cut in two is put together, what is no text is shown as such."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode
