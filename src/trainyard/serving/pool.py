"""The requests of one version that wait for its scoring processes, and the batches they are handed over in."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from trainyard.contract.serving import Scorer, ScorerStatus, ServiceState
from trainyard.scoring.wire import Answer, Request
from trainyard.serving.crew import Crew
from trainyard.serving.process import Launch, NotBegun, Worker, WorkerDied


class Busy(Exception):
    """The queue is full, or the request waited in it for too long."""


@dataclass(frozen=True)
class Limits:
    scoring_timeout_ms: int
    init_timeout_s: float
    queue: int
    queue_wait_ms: int


class Scored(NamedTuple):
    answer: Answer
    run_ms: float
    batch: int


class _Waiting:
    __slots__ = ("done", "gone", "request")

    def __init__(self, request: Request, gone: Callable[[], bool], done: asyncio.Future[Scored]) -> None:
        self.request = request
        self.gone = gone
        self.done = done


def _never() -> bool:
    return False


class Pool:
    def __init__(self, scorer: Scorer, launch: Launch, limits: Limits, changed: Callable[[], None]) -> None:
        self.scorer = scorer
        self.limits = limits
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Waiting] = deque()
        self._batching = False  # the last batch had company: there is load, so the next one may wait a little
        self._holding: asyncio.TimerHandle | None = None
        self._closed = False
        self.crew = Crew(scorer, launch, limits.init_timeout_s, self._pump, changed)

    async def start(self) -> None:
        """Until it may take traffic. Raises WorkerDied with the reason why it may not."""
        try:
            await self.crew.start()
            await self._smoke()
        except WorkerDied as error:
            self.crew.state, self.crew.error = ServiceState.FAILED, str(error)
            await self.crew.close()
            raise
        except asyncio.CancelledError:
            self.crew.kill()
            raise
        self.crew.watch()

    async def score(self, request: Request, gone: Callable[[], bool] = _never) -> Scored:
        if len(self._queue) >= self.limits.queue:
            raise Busy(f"{len(self._queue)} requests are waiting already. Try again in a moment.")
        waiting = _Waiting(request, gone, self._loop.create_future())
        self._queue.append(waiting)
        self._pump()
        if self._queue and self._queue[-1] is waiting:
            return await self._in_turn(waiting)
        return await waiting.done

    def adapt(self, scorer: Scorer, limits: Limits) -> None:
        """What may change without new processes."""
        self.scorer, self.limits = scorer, limits
        self.crew.adapt(scorer, limits.init_timeout_s)

    async def close(self, patience_s: float) -> None:
        """Answers what it has within `patience_s`, and ends its processes."""
        until = self._loop.time() + patience_s
        while (self._queue or self.crew.busy) and self._loop.time() < until:
            await asyncio.sleep(0.01)
        for waiting in self._queue:
            _fail(waiting, Busy("The service is ending."))
        self._queue.clear()
        self._closed = True
        await self.crew.close()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def status(self) -> ScorerStatus:
        crew = self.crew
        return ScorerStatus(self.scorer.version, crew.state, len(crew.ready), crew.error, crew.restarts)

    async def _smoke(self) -> None:
        if self.scorer.smoke is None:
            return
        request = Request(self.scorer.smoke.encode(), headers=(("content-type", "application/json"),))
        try:
            scored = await self.score(request)
        except Busy as error:
            raise WorkerDied(f"The smoke test was not answered: {error}") from error
        if scored.answer.status >= 400:
            text = scored.answer.body[:2000].decode("utf-8", "replace")
            raise WorkerDied(f"The smoke test was answered with {scored.answer.status}: {text}")

    async def _in_turn(self, waiting: _Waiting) -> Scored:
        """A request that found no free process waits for one, but not for ever."""
        limit_ms = self.limits.queue_wait_ms or self.limits.scoring_timeout_ms
        late = self._loop.call_later(limit_ms / 1000, self._too_late, waiting, limit_ms)
        try:
            return await waiting.done
        finally:
            late.cancel()

    def _too_late(self, waiting: _Waiting, limit_ms: int) -> None:
        if waiting in self._queue:
            self._queue.remove(waiting)
            _fail(waiting, Busy(f"The request waited {limit_ms} ms for a free scoring process. Try again in a moment."))

    def _pump(self) -> None:
        """Give what waits to who is free. Under load a batch may be held back until it is full."""
        while self._queue:
            worker = self.crew.free() or (self.crew.ahead() if self._most == 1 else None)
            if worker is None:
                break
            if self._worth_waiting():
                if self._holding is None:
                    self._holding = self._loop.call_later(self.scorer.batch_wait_ms / 1000, self._waited)
                return
            self._hand_over(worker)
        self.crew.peak = max(self.crew.peak, self.crew.busy + len(self._queue))

    def _worth_waiting(self) -> bool:
        return self._batching and len(self._queue) < self._most and self.scorer.batch_wait_ms > 0

    def _waited(self) -> None:
        self._holding = None
        self._batching = False
        self._pump()

    @property
    def _most(self) -> int:
        return max(1, self.scorer.batch) if self.crew.ready_as.batches else 1

    def _hand_over(self, worker: Worker) -> None:
        if self._holding is not None:
            self._holding.cancel()
            self._holding = None
        batch = self._take()
        if batch:
            self._batching = len(batch) > 1
            worker.send([one.request for one in batch], self.limits.scoring_timeout_ms, self._answered(batch))

    def _take(self) -> list[_Waiting]:
        """The next batch, without those whose clients have gone."""
        batch: list[_Waiting] = []
        while self._queue and len(batch) < self._most:
            waiting = self._queue.popleft()
            if waiting.gone():
                _fail(waiting, Busy("The client has gone."))
            else:
                batch.append(waiting)
        return batch

    def _again(self, batch: list[_Waiting]) -> None:
        """Back to the head of the queue."""
        if self._closed:
            for waiting in batch:
                _fail(waiting, Busy("The service is ending."))
            return
        limit_ms = self.limits.queue_wait_ms or self.limits.scoring_timeout_ms
        for waiting in reversed(batch):
            self._queue.appendleft(waiting)
            self._loop.call_later(limit_ms / 1000, self._too_late, waiting, limit_ms)

    def _answered(self, batch: list[_Waiting]) -> Callable[[list[Answer] | WorkerDied, float], None]:
        def done(came: list[Answer] | WorkerDied, ms: float) -> None:
            if isinstance(came, NotBegun):
                self._again(batch)
            elif isinstance(came, WorkerDied):
                for waiting in batch:
                    _fail(waiting, came)
            else:
                self.crew.took(ms)
                for waiting, answer in zip(batch, came, strict=True):
                    if not waiting.done.done():
                        waiting.done.set_result(Scored(answer, ms, len(batch)))
            self._pump()

        return done


def process_part(scorer: Scorer) -> Scorer:
    """What its processes are made from: where only the rest differs, they go on."""
    settings: dict[str, Any] = {
        "traffic": 0,
        "mirror": 0,
        "workers": 1,
        "most_workers": 1,
        "target": 0.7,
        "refresh_s": 1,
        "batch": 1,
        "batch_wait_ms": 0.0,
        "smoke": None,
        "memory_mb": 0,
    }
    return dataclasses.replace(scorer, **settings)


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(error)
