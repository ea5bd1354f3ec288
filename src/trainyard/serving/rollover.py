"""From one plan to the next: new versions start beside the old ones and take traffic only when all of them can."""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from typing import Protocol

from trainyard.contract.serving import Scorer, ServicePlan, ServiceState, ServiceStatus
from trainyard.serving.folder import Folder
from trainyard.serving.journal import Journal
from trainyard.serving.launching import launch_of
from trainyard.serving.pool import Limits, Pool, process_part
from trainyard.serving.process import WorkerDied
from trainyard.serving.router import Router

_PATIENCE_S = 60.0


class Served(Protocol):
    """The front, as far as this module changes it."""

    name: str
    folder: Folder
    journal: Journal
    router: Router
    failure: str | None
    url: str


class Rollover:
    def __init__(self, front: Served) -> None:
        self._front = front
        self._plan: ServicePlan | None = None
        self._serving = 0
        self._state = ServiceState.TRANSITIONING
        self._starting: list[Pool] = []
        self._failed: list[Pool] = []
        self._task: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    def begin(self, plan: ServicePlan) -> None:
        """A plan that is still being started makes way for the newer one."""
        if self._task is not None:
            self._task.cancel()
        self._plan = plan
        self._state, self._front.failure = ServiceState.TRANSITIONING, None
        self.tell()
        self._task = asyncio.create_task(self._go_over(plan))
        self._task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """A plan that could not be tried at all, say because the disk is full, is said to have failed too."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        self._front.journal.note("".join(traceback.format_exception(error)))
        self._state, self._front.failure = ServiceState.FAILED, f"{type(error).__name__}: {error}"
        self.tell()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(pool.close(1.0) for pool in self._front.router.pools), *self._leaving)

    def tell(self) -> None:
        """Into status.json."""
        plan, front = self._plan, self._front
        assert plan is not None
        pools = [*front.router.pools, *self._starting, *self._failed]
        scorers = tuple(pool.status() for pool in pools)
        state = self._state
        if state is ServiceState.HEALTHY and not all(pool.crew.ready for pool in front.router.pools):
            state = ServiceState.UNHEALTHY
        error = front.failure
        if state is ServiceState.UNHEALTHY and error is None:
            error = next((each.error for each in scorers if each.error), None)
        status = ServiceStatus(
            front.name, plan.generation, state, os.getpid(), front.url, scorers, error, time.time_ns(), self._serving
        )
        front.folder.write(status)

    async def _go_over(self, plan: ServicePlan) -> None:
        limits = Limits(plan.scoring_timeout_ms, plan.init_timeout_s, plan.queue, plan.queue_wait_ms)
        kept = self._kept(plan)
        new = [scorer for scorer in plan.scorers if scorer.version not in kept]
        # its own list: when a newer plan cancels this one, `_starting` may hold the newer one's already
        started = self._starting = [self._pool(plan, scorer, limits) for scorer in new]
        self._failed = []
        self.tell()
        try:
            came = await asyncio.gather(*(pool.start() for pool in started), return_exceptions=True)
        except asyncio.CancelledError:
            await asyncio.gather(*(pool.close(0.0) for pool in started))
            raise
        self._starting = []
        failed = [(pool, error) for pool, error in zip(started, came, strict=True) if isinstance(error, BaseException)]
        self._failed = [pool for pool, _ in failed]
        good = [pool for pool in started if pool not in self._failed]
        if failed:
            self._front.failure = _reasons([(pool.scorer, error) for pool, error in failed])
            self._front.journal.note(f"Generation {plan.generation} is not served. {self._front.failure}")
        if failed and (self._front.router.pools or not good):
            self._state = ServiceState.FAILED
            await asyncio.gather(*(pool.close(0.0) for pool in good))
        else:
            self._take_over(plan, limits, kept, good)
            self._state = ServiceState.UNHEALTHY if failed else ServiceState.HEALTHY
        self.tell()

    def _kept(self, plan: ServicePlan) -> dict[str, Pool]:
        """The versions whose processes can go on."""
        wanted = {scorer.version: process_part(scorer) for scorer in plan.scorers}
        pools = self._front.router.pools
        return {
            pool.scorer.version: pool for pool in pools if process_part(pool.scorer) == wanted.get(pool.scorer.version)
        }

    def _take_over(self, plan: ServicePlan, limits: Limits, kept: dict[str, Pool], good: list[Pool]) -> None:
        by_version = {**kept, **{pool.scorer.version: pool for pool in good}}
        pools = []
        for scorer in plan.scorers:
            if (pool := by_version.get(scorer.version)) is not None:
                pool.adapt(scorer, limits)
                pools.append(pool)
        gone = [pool for pool in self._front.router.pools if pool not in pools]
        self._front.router = Router(tuple(pools))
        self._serving = plan.generation
        self._front.journal.note(f"Generation {plan.generation} takes the traffic.")
        patience = max(_PATIENCE_S, plan.scoring_timeout_ms / 1000)
        for pool in gone:
            task = asyncio.create_task(pool.close(patience))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def _pool(self, plan: ServicePlan, scorer: Scorer, limits: Limits) -> Pool:
        launch = launch_of(plan, scorer, self._front.journal.descriptor)
        return Pool(scorer, launch, limits, self.tell)


def _reasons(failed: list[tuple[Scorer, BaseException]]) -> str:
    for _, error in failed:
        if not isinstance(error, WorkerDied):
            raise error
    return "\n".join(f"Version {scorer.version} did not start: {error}" for scorer, error in failed)
