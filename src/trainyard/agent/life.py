"""The life of an agent: arrive, prepare, run, collect, report, leave nothing behind."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import time
import traceback
import urllib.parse
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from trainyard import __version__
from trainyard.agent import cgroup, mpi, system, variables, verdict
from trainyard.agent.collect import Collector, frames_of
from trainyard.agent.contained import Contained, contain
from trainyard.agent.courier import Courier
from trainyard.agent.crew import Crew
from trainyard.agent.data import NodeData
from trainyard.agent.ports import HeldPorts
from trainyard.agent.processes import GRACE_S, Processes
from trainyard.agent.roster import guardian_of
from trainyard.agent.sampler import Sampler
from trainyard.agent.signals import Signals, Told
from trainyard.agent.streams import OwnLog, Tail, note
from trainyard.agent.workplace import Workplace
from trainyard.blobs.base import BlobStore
from trainyard.blobs.files import FileStore
from trainyard.blobs.remote import RemoteStore
from trainyard.client import overlay
from trainyard.client.attempts import Attempts
from trainyard.client.blobs import Blobs
from trainyard.client.data import Data
from trainyard.client.home import Home, disk_is_full
from trainyard.client.http import Http
from trainyard.client.runs import Runs
from trainyard.contract import logs
from trainyard.contract.attempts import ATTACHED, AgentOrder, Arrival, NodeEnded, Orders, Peer, ReportAnswer
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import ServiceUnavailable, TrainyardError
from trainyard.contract.frames import Frame
from trainyard.contract.runs import RunFile, RunSpec
from trainyard.contract.service import understands
from trainyard.environments.realize import Realized, realize
from trainyard.launchers import LAUNCHERS, find_launcher
from trainyard.launchers.base import NodeView, Process

T = TypeVar("T")

_OWN_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR")
_AWAY_PAUSE_S = 1.0


def main(order_line: str, group: str | None = None) -> int:
    """Live through one order. `group`: a control group to be in. 0: the protocol was gone through to its end."""
    order = from_json(AgentOrder, json.loads(order_line))
    entering = cgroup.Entering(group)
    agent = Agent(order, entering)
    try:
        return agent.live()
    finally:
        agent.processes.end(0)


def warm() -> None:
    """Do once, before forking, what every agent would do first: imports and the readers of records."""
    import http.client
    import importlib

    from_json(AgentOrder, to_json(AgentOrder("", 0, "", None, "", "")))
    from_json(Orders, to_json(Orders(go=True, spec=RunSpec(), peers=(Peer(0, "", ""),))))
    from_json(ReportAnswer, to_json(ReportAnswer()))
    for launcher in LAUNCHERS.values():
        importlib.import_module(launcher.partition(":")[0])
    understands(__version__, __version__)  # its pattern
    "localhost".encode("idna")  # what connecting to a named host imports
    http.client.parse_headers(io.BytesIO(b"Content-Length: 0\r\n\r\n"))


class Agent:
    def __init__(self, order: AgentOrder, entering: cgroup.Entering) -> None:
        system.become_subreaper()
        self.order = order
        self.entering = entering
        self.signals = Signals()
        self.home = Home(order.home)
        self.http = Http(order.endpoint, order.token, self.home if order.endpoint is None else None)
        self.place = Workplace(order.work, order.node)
        self.processes = Processes(self.signals.wake, self._services)
        self.store: BlobStore = FileStore(order.shared_blobs) if order.shared_blobs else RemoteStore(Blobs(self.http))
        self.ports = HeldPorts(order.ports)
        address = _address(order.endpoint)
        arrival = Arrival(order.node, socket.gethostname(), address, os.getpid(), self.ports.numbers)
        self.courier = Courier(Attempts(self.http, order.attempt_id), arrival, self.signals.tell)
        self.collector: Collector | None = None
        self.attached: Collector | None = None  # of what the job logged as files
        self.sampler: Sampler | None = None
        self.contained: Contained | None = None
        self.data: NodeData | None = None
        name = f"node-{order.node}"
        self.did = self._own_log(logs.execution(name))
        self.prepared = self._own_log(logs.job_prep(name))
        self.posted = self._own_log(logs.job_post(name))
        self.crew = Crew(order, self.place, self.courier, self.signals, self.processes, self.did)

    def live(self) -> int:
        self.place.move_in()
        self.courier.start()
        try:
            with self.signals.interruptible():
                self.signals.wait(self.courier.arrived)
        except Told:
            return 0  # nothing was begun; who placed us sees us end
        orders = self.courier.orders
        ended = self._work(orders) if orders is not None and orders.go else NodeEnded(stopped=True)
        ended, lineage = self._leave_data(ended)
        ended, files, last = self._leave(ended)
        told_full = ended.error is not None and ended.error.code == "DiskFull"
        if last and (told_full or disk_is_full(self.order.work)):
            self.place.clear()  # perhaps the run's own files fill the disk, and nobody can note its end before they go
        if not self.courier.over:
            ending = [*lineage, *frames_of(files), Frame("ended", to_json(ended)), Frame("final")]
            self.courier.finish(ending)
        self.place.move_out(last=last)
        return 0

    def _work(self, orders: Orders) -> NodeEnded:
        """Prepare and run. Whatever goes wrong here is the run's end, said in its words."""
        try:
            with self.signals.interruptible():
                orders, processes = self._prepare(orders)
            self.ports.release()
            self.entering.wait()
            if (failed := self.crew.start(orders, processes, self.scene, self.contained)) is not None:
                return NodeEnded(error=failed)
            return self.crew.attend(
                _spec(orders).max_duration_s, lambda: self._measure(orders.gpus), self._collect_meanwhile
            )
        except Told:
            return NodeEnded(stopped=True)
        except Exception as error:  # noqa: BLE001 - the service is told, and the agent's own log has the rest
            note(traceback.format_exc())
            return NodeEnded(error=verdict.of_agent(error, self.order.node))
        finally:
            self.processes.end(0 if self.courier.over else GRACE_S if self.signals.told else 0)
            if self.sampler is not None:
                self.sampler.stop()
            if self.contained is not None:
                self.contained.end()

    # Preparing

    def _fetch_data(self, orders: Orders) -> Orders:
        """The run's inputs are here and its outputs have a place; answers the orders with their paths filled in."""
        spec = _spec(orders)
        if not spec.inputs and not spec.outputs:
            return orders
        client = Data(self.http, orders.workspace_id)
        places = (self.place.own(), self.place.working)
        self.data = data = NodeData(self.order, orders, client, *places, self.prepared, os.environ)
        filled = self._patiently(lambda: data.prepare(spec))
        self.crew.bring(data.lineage(data.uses), data.mounts)
        return replace(orders, spec=filled)

    def _prepare(self, orders: Orders) -> tuple[Orders, list[Process]]:
        spec = _spec(orders)
        self._carry_own_logs()
        began = time.monotonic()
        restore = self._patiently(lambda: self._to_restore(orders, spec))
        laid = self._patiently(lambda: self.place.lay_out(spec.snapshot_id, self.store, restore))
        if laid:
            self.prepared(f"Snapshot {spec.snapshot_id} laid out in {time.monotonic() - began:.3f} s.")
            if restore:
                self.prepared(f"{len(restore)} files of {_whose(orders, spec)} restored.")
        folders = (("outputs",) if spec.collect_outputs else ()) + spec.watched
        self.collector = Collector(self.place.working, folders, self.store, self.posted, growing=spec.watched)
        self.attached = Collector(self.place.own(ATTACHED), (os.curdir,), self.store, self.posted)
        if not spec.environment.user_managed or spec.inputs or spec.outputs:
            self.entering.wait()  # builders and mounts are processes of the attempt, too
        orders = self._fetch_data(orders)
        spec = _spec(orders)
        path = {**spec.inherited, **self._own_variables(), **spec.variables}.get("PATH", os.defpath)
        environment = self._environment(spec, path)
        shell = next(shell for shell in ("/bin/bash", "/bin/sh") if shell == "/bin/sh" or os.path.exists(shell))
        self.scene = variables.Scene(
            service_url=self.order.endpoint or self._patiently(lambda: self.http.url),
            working=self.place.working,
            overlay=overlay.ensure(self.order.home).first,
            interpreter=environment.interpreter,
            job_context="",
            shares_home=self.order.endpoint is None,
            variables={**self._own_variables(), **environment.variables},
            data=self.data.variables if self.data is not None else {},
        )
        view = NodeView(
            self.order.node,
            orders.peers,
            environment.interpreter,
            shell,
            folder=self.place.own(),
            shared=self.place.work if self.place.shared_by(len(orders.peers)) else None,
            mpirun=self._mpirun(spec, environment),
            processors=system.processors(),
        )
        return orders, find_launcher(spec.launcher)(spec, view)

    def _measure(self, gpus: tuple[str, ...]) -> None:
        tape = self.place.own("system.tape")
        self.courier.carry(
            [Tail("system", f"{self.place.name}/system", tape, urgent=False)], self.place.own("spool"), []
        )
        self.sampler = Sampler(tape, self.order.node, self.place.work, gpus, self._services)
        self.sampler.start()

    def _mpirun(self, spec: RunSpec, environment: Realized) -> str | None:
        if spec.launcher != "mpi":
            return None
        if self.contained is not None:
            return "mpirun"  # the image's own
        variables = {**spec.inherited, **self._own_variables(), **spec.environment.variables, **spec.variables}
        return mpi.find_mpirun(environment.interpreter, variables)

    def _environment(self, spec: RunSpec, path: str) -> Realized:
        self.contained = contain(spec.environment, self.order.attempt_id, self.order.node, os.environ, self.prepared)
        if self.contained is not None:
            return Realized(spec.environment.interpreter or "python")  # the image's own
        return realize(
            spec.environment,
            self.order.home,
            path,
            self.prepared,
            relax=spec.relax_pins,
            variables=os.environ,
            read_lock=self.store.read,
        )

    def _to_restore(self, orders: Orders, spec: RunSpec) -> list[RunFile]:
        """What ./outputs begins with: another run's outputs, where it goes on from one, under those of its own earlier
        attempt."""
        runs = Runs(self.http, orders.workspace_id)
        sources = [spec.outputs_from] if spec.outputs_from else []
        sources += [orders.run_id] if orders.restore_outputs else []
        found = {file.name: file for run_id in sources for file in runs.files(run_id)}
        return [file for name, file in found.items() if name.startswith("outputs/")]

    def _own_variables(self) -> dict[str, str]:
        """What finds programs and homes on a node that is another machine than the one that the run came from."""
        if self.order.endpoint is None:
            return {}
        return {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}

    def _patiently(self, ask: Callable[[], T]) -> T:
        """What needs the service waits for it; SIGTERM ends the wait."""
        while True:
            try:
                return ask()
            except ServiceUnavailable as error:
                note(f"{error.code}: {error.message} Trying again.")
                time.sleep(_AWAY_PAUSE_S)

    def _collect_meanwhile(self) -> None:
        assert self.collector is not None
        assert self.attached is not None
        try:
            with self.signals.interruptible():
                files = self.attached.collect(settled=False)
                if self.place.leads():
                    files += self.collector.collect(settled=False)
        except (Told, TrainyardError, OSError):
            return  # the script need not know; what was stored is found stored at the end, and the rest is stored then
        if files:
            self.courier.tell(frames_of(files))

    # Leaving

    def _leave_data(self, ended: NodeEnded) -> tuple[NodeEnded, list[Frame]]:
        """Outputs are stored also of a run that failed: what it wrote until then may be all there is."""
        if (data := self.data) is None:
            return ended, []
        try:
            if self.courier.over:
                return ended, []
            well = ended.error is None and not ended.stopped
            return ended, data.lineage(self._patiently(lambda: data.finish(well=well)))
        except Exception as error:  # noqa: BLE001 - said to the service; the first error is the one that counts
            note(traceback.format_exc())
            of_ours = NodeEnded(error=verdict.of_agent(error, self.order.node))
            return ended if ended.error or ended.stopped else of_ours, []
        finally:
            data.close()

    def _leave(self, ended: NodeEnded) -> tuple[NodeEnded, list[RunFile], bool]:
        """The last of the nodes that share the folder collects what all of them left there."""
        collector = self.collector
        ended, files = self._collect_rest(ended, self.attached)
        if collector is not None and collector.seen:
            with contextlib.suppress(OSError):  # then the last node stores what we had stored once more: one blob
                collector.remember(self.place.collected)
        with self.place.leaving() as last:
            pass
        if collector is None or not last:
            return ended, files, last
        ended, more = self._collect_rest(ended, collector, self.place.collected)
        return ended, files + more, last

    def _collect_rest(
        self, ended: NodeEnded, collector: Collector | None, others: str | None = None
    ) -> tuple[NodeEnded, list[RunFile]]:
        """Nothing is written any more: everything that is new. `others`: where other nodes noted what they stored."""
        if collector is None or self.courier.over:
            return ended, []
        try:
            if others is not None:
                collector.recall(others)
            return ended, self._patiently(lambda: collector.collect(settled=True))
        except Exception as error:  # noqa: BLE001 - said to the service; the first error is the one that counts
            note(traceback.format_exc())
            of_ours = NodeEnded(error=verdict.of_agent(error, self.order.node))
            return ended if ended.error or ended.stopped else of_ours, []

    # Small things

    def _services(self) -> set[int]:
        """The embedded service, if one of ours had to start it, and the guardian that it started: they are not part of
        the attempt."""
        if self.order.endpoint is not None:
            return set()
        running = self.home.running()
        return ({running.pid} if running else set()) | guardian_of(self.home)

    def _own_log(self, name: str) -> OwnLog:
        return OwnLog(self.place.stream(name))

    def _carry_own_logs(self) -> None:
        name = f"node-{self.order.node}"
        names = (logs.execution(name), logs.job_prep(name), logs.job_post(name))
        self.did(f"{_now()} Agent of {name} on {socket.gethostname()}, process {os.getpid()}.")
        tails = [Tail("log", log, self.place.stream(log), urgent=False) for log in names]
        self.courier.carry(tails, self.place.own("spool"), [])


def _spec(orders: Orders) -> RunSpec:
    assert orders.spec is not None, "a service sends the run's spec when it says go"
    return orders.spec


def _whose(orders: Orders, spec: RunSpec) -> str:
    return "the earlier attempt" if orders.restore_outputs else f"run {spec.outputs_from}"


def _address(endpoint: str | None) -> str:
    """Where peers reach this node: the address that the way to the service starts from."""
    host = urllib.parse.urlsplit(endpoint).hostname if endpoint else None
    if host is None:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))  # sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
