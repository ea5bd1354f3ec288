"""What several processes write, as one text: line by line as they come, each with its rank in front. Between them
stands, with a star, what the run's history notes meanwhile, such as which rank was the last to start."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from trainyard.client.runs import Runs
from trainyard.contract import logs
from trainyard.contract.errors import TrainyardError, UnknownFile
from trainyard.contract.runs import RunEvent, RunRecord
from trainyard.contract.states import TERMINAL
from trainyard.sdk.errors import AzureMLException, UserErrorException, code_of
from trainyard.sdk.runs.following import DONE, Away, followed

MOST = 32  # that are followed at once, each by a connection of its own
_LONGEST_PART = 1 << 16  # of a line that does not end


def processes_of(record: RunRecord) -> int:
    """How many the run has, over all nodes."""
    if record.spec is None:
        return 1
    return sum(role.count for role in record.spec.roles) or record.nodes


def chosen_ranks(record: RunRecord, wanted: Sequence[int] | None) -> tuple[int, ...]:
    """The ranks to show: those wanted, else all, or the first of very many. (): the run has one process and one log."""
    count = processes_of(record)
    starts_ranks = record.spec is not None and record.spec.launcher in ("mpi", "torchrun")
    if wanted is not None:
        for rank in wanted:
            if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < count:
                raise UserErrorException(f"The run has no rank {rank!r}: its processes count from 0 to {count - 1}.")
        if not wanted:
            raise UserErrorException("The list of ranks is empty. Name one at least.")
    if count == 1 and not starts_ranks:
        return ()
    return tuple(dict.fromkeys(wanted)) if wanted is not None else tuple(range(min(count, MOST)))


def title(record: RunRecord, ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return logs.of_rank(ranks[0])
    left = processes_of(record) - len(ranks)
    more = f" ({left} more are not shown)" if left else ""
    return f"{logs.of_rank(ranks[0])} and {len(ranks) - 1} more, each line with its rank in front{more}"


class RankLogs:
    """Followed by a thread for each rank; `chunks` gives what they bring, and DONE once all are over."""

    def __init__(self, runs: Runs, run_id: str, ranks: Sequence[int], name: str) -> None:
        self.run_id, self.name = run_id, name
        self.chunks: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        self.offset = 0
        self.stopped = threading.Event()
        self._runs = runs
        alone = len(ranks) == 1
        self._left = 1 if alone else len(ranks) + 1
        self._lock = threading.Lock()
        for rank in ranks:
            put = marked(rank, ranks, self.chunks.put)
            self._begin(f"rank-{rank}", self._log(logs.of_rank(rank)), put)
        if not alone:
            self._begin("history", self._notes(), marked("*", ranks, self.chunks.put))

    def rest(self) -> bytes:
        return b""  # it is always read to its end

    def _begin(self, name: str, pieces: Iterator[bytes], put: Lines) -> None:
        work = threading.Thread(target=self._work, args=(pieces, put), name=f"trainyard-follow-{name}", daemon=True)
        work.start()

    def _work(self, pieces: Iterator[bytes], put: Lines) -> None:
        try:
            for data in pieces:
                put(data)
            put.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, the reader raises it; a silent thread would hang it
            self.chunks.put(error)
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.chunks.put(DONE)

    def _log(self, name: str) -> Iterator[bytes]:
        try:
            yield from followed(self._runs, self.run_id, name, self.stopped)
        except (AzureMLException, TrainyardError) as error:
            if (error.code if isinstance(error, TrainyardError) else code_of(error)) != UnknownFile.code:
                raise  # it has not written anything: it never started, or its node was not taken

    def _notes(self) -> Iterator[bytes]:
        away = Away()
        seen = 0
        while not self.stopped.is_set():
            try:
                record = self._runs.wait(self.run_id, seen)
                events = self._runs.events(self.run_id)
                away.back()
            except (AzureMLException, TrainyardError, OSError) as error:
                away.endure(error)
                continue
            yield from (f"{note}\n".encode() for note in notes(events, seen))
            seen = max(seen, len(events))
            if record.state in TERMINAL:
                return


def marked(rank: int | str, ranks: Sequence[int], put: Callable[[bytes], object]) -> Lines:
    """What one of the ranks writes. Alone it needs no mark, and stays as it is."""
    return Lines(f"[{rank:>{len(str(max(ranks)))}}] ".encode() if len(ranks) > 1 else b"", put)


class Lines:
    """Whole lines with a mark in front: of one that was drawn over and over (a progress bar) what stood there in the
    end. A line that does not end comes in parts."""

    def __init__(self, mark: bytes, put: Callable[[bytes], object]) -> None:
        self._mark, self._put, self._open = mark, put, b""

    def __call__(self, data: bytes) -> None:
        if not self._mark:
            self._put(data)
            return
        *whole, rest = (self._open + data).split(b"\n")
        whole, self._open = [_drawn(line) for line in whole], _drawn(rest) + b"\r" * rest.endswith(b"\r")
        if len(self._open) > _LONGEST_PART:
            whole, self._open = [*whole, self._open], b""
        if whole:
            self._put(b"".join(self._mark + line + b"\n" for line in whole))

    def close(self) -> None:
        if self._open:
            self(b"\n")


def _drawn(line: bytes) -> bytes:
    return next((state for state in reversed(line.split(b"\r")) if state), b"")


def notes(events: Sequence[RunEvent], seen: int) -> list[str]:
    """What the history says after the first `seen` events without a move to another state."""
    return [after.reason for before, after in pairwise(events) if after.state == before.state and after.sequence > seen]
