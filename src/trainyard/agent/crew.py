"""The processes of one attempt on this node, from their start to the end of the last: who is waited for, who only
serves, what another node starts here, and what the end of one means for the others."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from trainyard.agent import mpi, readonly, shell_server, variables, verdict
from trainyard.agent.contained import Contained
from trainyard.agent.courier import Courier
from trainyard.agent.packages import beside
from trainyard.agent.processes import GRACE_S, Processes
from trainyard.agent.rank_starts import LOOK_EVERY_S, RankStarts
from trainyard.agent.shell_server import Request, ShellServer
from trainyard.agent.signals import Signals
from trainyard.agent.streams import OwnLog, Tail, last_lines
from trainyard.agent.workplace import Workplace
from trainyard.client import overlay
from trainyard.client.home import disk_is_full
from trainyard.contract import logs
from trainyard.contract.attempts import AgentOrder, JobContext, NodeEnded, Orders
from trainyard.contract.frames import Frame
from trainyard.contract.runs import EnvironmentSpec, RunError, RunSpec
from trainyard.environments import container
from trainyard.environments.container import Mount
from trainyard.launchers.base import Process
from trainyard.launchers.mpi import REMOTE_SHELL

COLLECT_EVERY_S = 5.0
_OTHERS_FIRST_S = 5.0
_MEASURED_AFTER_S = 0.25  # what is over before that is not worth measuring
_WITH_KERAS = {"mpi": ("tf_keras", "horovod"), "tf_config": ("tf_keras",)}  # launcher → what calls for Keras 2


@dataclass
class Crew:
    order: AgentOrder
    place: Workplace
    courier: Courier
    signals: Signals
    processes: Processes
    did: Callable[[str], None]
    started: dict[int, Process] = field(default_factory=dict)  # by rank
    # by rank: what another node will start here, and who waits for the end of what it has started
    awaited: dict[int, tuple[ShellServer, dict[str, str]]] = field(default_factory=dict)
    asked: dict[int, Request] = field(default_factory=dict)
    said_done: bool = False
    news: list[Frame] = field(default_factory=list)  # told together with the start
    mounts: dict[str, bool] = field(default_factory=dict)  # of the run's data, for containers: folder → writable
    contained: Contained | None = None
    guarded: readonly.Guarded | None = None  # what the processes may only read, without a container
    launcher: str = ""
    of_many: bool = False  # ranks, over all nodes
    environment: EnvironmentSpec = field(default_factory=EnvironmentSpec)

    def __post_init__(self) -> None:
        self.starts = RankStarts(self.place.own())

    def bring(self, news: list[Frame], mounts: dict[str, bool]) -> None:
        """What the run's data adds to its start."""
        self.news, self.mounts = news, mounts

    def start(
        self, orders: Orders, processes: list[Process], scene: variables.Scene, contained: Contained | None = None
    ) -> RunError | None:
        self.contained = contained
        spec = orders.spec or RunSpec()
        self.environment = spec.environment
        self.launcher, self.of_many = spec.launcher, len(orders.peers) * len(_ranks(processes)) > 1
        if spec.command is None and spec.script and not verdict.script_exists(self.place.working, spec.script):
            return verdict.of_missing_script(spec.script, self.order.node)
        if contained is None:
            self._guard({**spec.inherited, **scene.variables, **spec.environment.variables, **spec.variables})
        for process in processes:
            environment = self._environment(orders, spec, process, scene)
            self.started[process.rank] = process
            self.starts.expect(process)
            if process.listens is not None:
                server = ShellServer(*process.listens, self.order.token)
                server.start()
                self.awaited[process.rank] = (server, environment)
                continue
            argv = [*process.argv, *variables.expand(process.arguments, environment)]
            try:
                self._run(process.rank, argv, environment, self.place.stream(process.log))
            except OSError as error:
                return verdict.of_start(error, argv, self.order.node, process.rank)
            said = shlex.join([*process.argv, *process.arguments])
            self.did(f"{_now()} Started {_name(process)} ({process.role}): {said}")
        tails = [Tail("log", log, self.place.stream(log)) for process in processes for log in _logs(process)]
        started = [*self.news, Frame("started", {"time_ns": time.time_ns()})]
        self.courier.carry(tails, self.place.own("spool"), started + (self.starts.news() if self.of_many else []))
        return None

    def _run(self, rank: int, argv: list[str], environment: dict[str, str], output: str) -> None:
        if self.contained is not None:
            data = (Mount(folder, writable=writable) for folder, writable in self.mounts.items())
            mounts = (Mount(self.order.home), Mount(self.order.work, writable=True), *data)
            argv = self.contained.argv(rank, argv, environment, mounts, self.place.working)
            environment = self.contained.with_engines(environment)
        entering = self.guarded.entering(self.place.working) if self.guarded is not None else None
        self.processes.start(rank, argv, environment, self.place.working, output, entering)

    def _guard(self, given: dict[str, str]) -> None:
        """Mounted data is read-only where the kernel lets us make it so."""
        if not self.mounts:
            return
        needed = (self.order.home, self.order.work, self.place.working, given.get("HOME"), given.get("TMPDIR"))
        found, writable = readonly.choose(self.mounts, filter(None, needed))
        if not found or {**os.environ, **given}.get(readonly.WANTED) == "0":
            return
        said = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
        try:
            self.guarded = readonly.guard(found, writable)
            self.did(f"{_now()} Read-only for the processes: {said}.")
        except OSError as error:
            self.did(f"{_now()} Not made read-only ({error.strerror}), do not write there: {said}.")

    def _environment(self, orders: Orders, spec: RunSpec, process: Process, scene: variables.Scene) -> dict[str, str]:
        """The variables of a process; what it and the ranks below it find in the node's folder is laid there."""
        for rank in process.ranks or (process.rank,):
            self._context(orders, rank).write(self.place.own(f"job-{rank}.json"))
        scene = replace(scene, job_context=self.place.own(f"job-{process.rank}.json"))
        environment = variables.of_process(self.order, orders, spec, process, scene)
        if process.ranks:
            for log in _logs(process):
                OwnLog(self.place.stream(log)).open()  # so that the first line of a rank is noticed
        if spec.launcher == "mpi":
            shell_server.install_client(self.place.own("bin"), REMOTE_SHELL)
            environment["PATH"] = os.pathsep.join((self.place.own("bin"), environment["PATH"]))
            if process.argv:
                environment["LD_LIBRARY_PATH"] = mpi.library_path(process.argv[0], environment)
        # Keras 3 trains on one machine only: Horovod's optimizer silently averages nothing under it, and strategies of
        # several workers fail. Where Keras 2 is installed beside it, that one is used.
        if spec.launcher in _WITH_KERAS and beside(scene.interpreter, *_WITH_KERAS[spec.launcher]):
            environment.setdefault("TF_USE_LEGACY_KERAS", "1")
        return environment

    def attend(self, limit: int, measure: Callable[[], None], collect: Callable[[], None]) -> NodeEnded:
        """Until nothing is waited for any more, or one has failed. `limit`: seconds it may take; 0 for any."""
        kills = verdict.memory_kills()
        until = time.monotonic() + limit if limit > 0 else float("inf")
        latest = until + (_OTHERS_FIRST_S if self.of_many else 0)
        measure_at, look_at = time.monotonic() + _MEASURED_AFTER_S, time.monotonic() + COLLECT_EVERY_S
        while self._anything_to_wait_for():
            now = time.monotonic()
            if self.signals.told:
                self.did(f"{_now()} Ending: {self.signals.reason or 'SIGTERM'}")
                failed = self._failed_below(list(self.started.values()))
                return failed or NodeEnded(stopped=True)
            if now >= until:
                left = self._still_running() if self.of_many else []
                if left or now >= latest:
                    return NodeEnded(error=verdict.of_time_limit(limit, self.order.node, left))
                until = latest  # all of ours are done: a node whose ranks are not says which
            if now >= measure_at:
                measure()
                measure_at = float("inf")
            if now >= look_at:
                collect()
                look_at = time.monotonic() + max(COLLECT_EVERY_S, 20 * (time.monotonic() - now))
            if self.of_many and self.starts.waiting and (news := self.starts.news()):
                self.courier.tell(news)
            pause = LOOK_EVERY_S if self.of_many and self.starts.waiting else 3600
            for rank, code in self.processes.wait(min(measure_at, look_at, until, now + pause) - now):
                self.did(f"{_now()} Ended with {code}: {_name(self.started[rank])}.")
                if (failed := self._ended(rank, code, kills)) is not None and not self.signals.told:
                    return failed
            self._start_what_is_asked_for()
        if self.processes.any_running():
            self.did(f"{_now()} All nodes are done: ending what served them.")
            self.processes.end(GRACE_S)
        return NodeEnded(stopped=True) if self.signals.told else NodeEnded(exit_code=0)

    def _anything_to_wait_for(self) -> bool:
        """A process that ends by itself runs, or is still to come, or what serves is still needed elsewhere."""
        running = self.processes.ranks
        if self.awaited or any(not self.started[rank].serves for rank in running):
            return True
        if running and not self.said_done:
            self.said_done = True
            self.courier.tell_done()
        return bool(running) and not self.courier.done

    def _start_what_is_asked_for(self) -> None:
        """A line from another node: it becomes a process of ours, as if we had planned it."""
        for rank, (server, environment) in list(self.awaited.items()):
            if server.requests.empty():
                continue
            request = server.requests.get()
            server.close()
            del self.awaited[rank]
            self.asked[rank] = request
            log = self.place.stream(logs.execution(f"node-{self.order.node}"))
            self._run(rank, ["/bin/sh", "-c", request.line], environment, log)
            self.did(f"{_now()} Started for another node: {request.line.strip()}")

    def _ended(self, rank: int, code: int, kills: int) -> NodeEnded | None:
        """What the end of a process means: None for nothing."""
        process = self.started[rank]
        if (request := self.asked.pop(rank, None)) is not None:
            request.answer(code)
            return self._failed_below([process])  # else its own end is for whoever asked for it to judge
        if code == 0:
            return None
        if process.ranks:
            lines = last_lines(self.place.stream(process.log))
            failed = self._failed_below([process])
            of_starter = verdict.of_torchrun if self.launcher == "torchrun" else verdict.of_mpirun
            return failed or NodeEnded(code, of_starter(code, lines, process.log, self.order.node))
        return self._failed(rank, process.log, code, verdict.memory_kills() > kills)

    def _still_running(self) -> list[int]:
        """The ranks on this node that have not ended, whoever started them; not those that never do by themselves."""
        here = self.processes.ranks
        running = [process for rank, process in self.started.items() if rank in here and not process.serves]
        below = mpi.unfinished(self.place.own(), [rank for process in running for rank in process.ranks])
        return sorted([*below, *(process.rank for process in running if not process.ranks)])

    def _failed_below(self, processes: list[Process]) -> NodeEnded | None:
        """The rank that is the reason, of those that these have started here: the first that failed by itself; else one
        that was about to, and only then one that failed because another was gone."""
        ranks = [rank for process in processes for rank in process.ranks]
        said = {rank: last_lines(self.place.stream(logs.of_rank(rank))) for rank in ranks}
        failed = mpi.failed(self.place.own(), ranks)
        about_to = [(rank, 1) for rank in mpi.unfinished(self.place.own(), ranks) if verdict.has_raised(said[rank])]
        found = sorted([*failed, *about_to], key=lambda one: verdict.was_taken_along(said[one[0]]))
        return self._failed(found[0][0], logs.of_rank(found[0][0]), found[0][1], False) if found else None

    def _failed(self, rank: int, log: str, code: int, memory_ran_out: bool) -> NodeEnded:
        managed = self.environment.user_managed
        lines, image = last_lines(self.place.stream(log)), self._unused_image()
        ended = verdict.Ended(rank, code, lines, log, user_managed=managed, image=image)
        full = disk_is_full(self.place.work)
        if self.processes.any_running():
            self.processes.end(GRACE_S)
        error = verdict.of_process(ended, self.order.node, memory_ran_out=memory_ran_out, disk_is_full=full)
        return NodeEnded(code, error, taken_along=verdict.was_taken_along(ended.last_lines))

    def _unused_image(self) -> str | None:
        wish = container.wish_of(self.environment.definition) if self.contained is None else None
        return None if wish is None else wish.image or "of its Dockerfile"

    def _context(self, orders: Orders, rank: int) -> JobContext:
        shared = self.order.endpoint is None
        return JobContext(
            run_id=orders.run_id,
            attempt=orders.attempt,
            attempt_id=self.order.attempt_id,
            workspace_id=orders.workspace_id,
            workspace_name=orders.workspace_name,
            subscription_id=orders.subscription_id,
            resource_group=orders.resource_group,
            experiment=orders.experiment,
            experiment_id=orders.experiment_id,
            endpoint=self.order.endpoint,
            home=self.order.home if shared else None,
            spool=self.place.own("spool"),
            working=self.place.working,
            node=self.order.node,
            rank=rank,
            shared_blobs=self.order.shared_blobs,
            last_on_path=overlay.ensure(self.order.home).last,
        )


def _name(process: Process) -> str:
    return f"what starts {len(process.ranks)} ranks here" if process.ranks else f"rank {process.rank}"


def _ranks(processes: list[Process]) -> list[int]:
    return [rank for process in processes for rank in process.ranks or (process.rank,)]


def _logs(process: Process) -> list[str]:
    """The run's logs that come from it, and from the ranks that it starts here."""
    own = [process.log] if process.argv else []
    return own + [logs.of_rank(rank) for rank in process.ranks]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
