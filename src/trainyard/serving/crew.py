"""The scoring processes of one version: started, restarted when they die, as many as the load needs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

from trainyard.contract.serving import Scorer, ServiceState
from trainyard.serving import memory
from trainyard.serving.process import Launch, Ready, Worker, WorkerDied

_FIRST_PAUSE_S = 0.1  # before a dead process is started again; doubled each time one dies young
_LONGEST_PAUSE_S = 30.0
_TICK_S = 1.0
_OLD_AFTER_S = 30.0  # a process that lived this long died of something new
_SHORT_MS = 2.0
_AHEAD = 4
_GROWTH = 1.5  # over what a process held after its init()
_CALM_S = 30.0  # of low load before one is taken away


class Crew:
    """`free` is called when a process can take requests, `changed` when there is something new to tell."""

    def __init__(
        self,
        scorer: Scorer,
        launch: Launch,
        init_timeout_s: float,
        free: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self.scorer = scorer
        self.init_timeout_s = init_timeout_s
        self._launch = launch
        self._on_free = free
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._workers: list[Worker] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._restarting = 0
        self._run_ms = 2 * _SHORT_MS  # of late; until it is known, requests are taken for long ones
        self._young_deaths = 0
        self._calm_since = self._loop.time()  # no load since then that needs all that are here
        self.peak = 0  # most requests in work since the last look, those that wait included
        self.restarts = 0
        self.error: str | None = None
        self.state = ServiceState.TRANSITIONING
        self.ready_as = Ready({}, raw=False, batches=False)

    async def start(self) -> None:
        """Until every process has ended its init(). Raises WorkerDied with the reason of the first that did not."""
        try:
            await self._start_one()  # what fails, fails once
            async with asyncio.TaskGroup() as others:
                for _ in range(self.scorer.workers - 1):
                    others.create_task(self._start_one())
        except* WorkerDied as group:
            raise WorkerDied(str(_first(group))) from group

    def watch(self) -> None:
        """From now on this version takes traffic."""
        self.state = ServiceState.HEALTHY
        self._keep(self._tick())
        self._fill()  # one may have died between its init() and now
        self._changed()

    def adapt(self, scorer: Scorer, init_timeout_s: float) -> None:
        self.scorer, self.init_timeout_s = scorer, init_timeout_s
        self._fill()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        workers, self._workers = self._workers, []
        await asyncio.gather(*(worker.stop() for worker in workers))

    def kill(self) -> None:
        for worker in self._workers:
            worker.kill()

    def free(self) -> Worker | None:
        """The least busy of those that have room for one more."""
        best, least = None, self.scorer.threads
        for worker in self._workers:
            busy = worker.busy
            if busy < least and worker.takes_requests:
                if not busy:
                    return worker
                best, least = worker, busy
        return best

    def ahead(self) -> Worker | None:
        """One that gets its next requests before it has answered, so that it need not wait for us between two of them.
        Only where requests are so short that none of them can miss a process that would have been free earlier."""
        if self._run_ms > _SHORT_MS:
            return None
        room = [worker for worker in self._workers if worker.takes_requests and worker.busy < self._most_ahead]
        return min(room, key=lambda worker: worker.busy, default=None)

    @property
    def _most_ahead(self) -> int:
        return self.scorer.threads + _AHEAD

    def took(self, run_ms: float) -> None:
        self._run_ms += (run_ms - self._run_ms) / 8

    @property
    def busy(self) -> int:
        return sum(worker.busy for worker in self._workers)

    @property
    def ready(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.takes_requests]

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers]

    async def _start_one(self) -> None:
        worker = Worker(self._launch, self._ended)
        self._workers.append(worker)
        try:
            self.ready_as = await worker.start(self.init_timeout_s)
            worker.first_mb = memory.resident_mb(worker.pid)
        except BaseException:
            if worker in self._workers:
                self._workers.remove(worker)
            raise
        self._on_free()

    def _ended(self, worker: Worker) -> None:
        if worker not in self._workers or worker.ready is None:
            return  # told to go, or whoever started it knows
        self._workers.remove(worker)
        young = self._loop.time() - worker.ready_at < _OLD_AFTER_S
        self._young_deaths = self._young_deaths + 1 if young else 1
        self.error = f"{worker.ended}."
        if self.state is not ServiceState.TRANSITIONING:
            self._fill()
            self._judge()

    def _fill(self) -> None:
        """Start what is missing."""
        missing = self.scorer.workers - len(self._workers) - self._restarting
        for _ in range(missing):
            self._restarting += 1
            self._keep(self._restart())

    async def _restart(self) -> None:
        try:
            while True:
                pause = _FIRST_PAUSE_S * 2 ** max(0, self._young_deaths - 1)
                await asyncio.sleep(min(pause, _LONGEST_PAUSE_S))
                try:
                    await self._start_one()
                except WorkerDied as error:
                    self._young_deaths += 1
                    self.error = str(error)
                    self._judge()
                else:
                    self.restarts += 1
                    break
        finally:
            self._restarting -= 1
        self._judge()

    def _judge(self) -> None:
        self.state = ServiceState.HEALTHY if self.ready else ServiceState.UNHEALTHY
        if self.ready:
            self.error = None
        self._changed()

    async def _tick(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(_TICK_S)
            ticks += 1
            try:
                if ticks % self.scorer.refresh_s == 0:
                    await self._scale()
                await self._trim()
            except WorkerDied as error:
                self.error = str(error)
                self._changed()

    async def _scale(self) -> None:
        """As many processes as the load needs, between the least and the most."""
        now, used, self.peak = self._loop.time(), self.peak, self.busy
        here, most = len(self._workers), max(self.scorer.workers, self.scorer.most_workers)
        if self._wanted(used) >= here:
            self._calm_since = now
        if here < most and self.ready and self._wanted(used) > here:
            await self._start_one()
            self._changed()
        elif here > self.scorer.workers and now - self._calm_since > _CALM_S:
            self._calm_since = now
            await self._take_away(self.ready[-1:])

    def _wanted(self, used: int) -> int:
        return math.ceil(used / (self.scorer.target * self.scorer.threads))

    async def _trim(self) -> None:
        """None that has grown beyond its memory; the new one is there before the old one goes. A model that needs more
        than that from the start is let be: a new process would need as much."""
        if not (limit := self.scorer.memory_mb):
            return
        large = [one for one in self.ready if memory.resident_mb(one.pid) > max(limit, _GROWTH * one.first_mb)]
        if large:
            await self._start_one()
            self.restarts += 1
            await self._take_away(large[:1])

    async def _take_away(self, workers: list[Worker]) -> None:
        for worker in workers:
            worker.leaving = True
            while worker.busy:
                await asyncio.sleep(0.01)
            if worker in self._workers:
                self._workers.remove(worker)
            await worker.stop()
        self._changed()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
