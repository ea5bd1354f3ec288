"""A service for agents to talk to: the attempts and blobs API of the contract, in memory, with faults on demand."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from trainyard.blobs.files import FileStore
from trainyard.contract.attempts import Arrival, NodeEnded, Orders, Peer, ReportAnswer
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import AttemptOver, NotAuthenticated, TrainyardError, UnknownRun
from trainyard.contract.frames import Frame, decode
from trainyard.contract.runs import RunFile
from trainyard.contract.service import API


@dataclass
class Heard:
    """What agents have said about one attempt."""

    orders: Orders
    nodes: int
    token: str
    arrivals: dict[int, Arrival] = field(default_factory=dict)
    streams: dict[str, bytearray] = field(default_factory=dict)  # logs and tapes
    started: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    ended: dict[int, NodeEnded] = field(default_factory=dict)
    final: set[int] = field(default_factory=set)
    files: dict[str, RunFile] = field(default_factory=dict)
    requests: list[tuple[float, str]] = field(default_factory=list)  # (when, verb)
    cancel: bool = False
    over: bool = False

    def log(self, name: str) -> bytes:
        return bytes(self.streams.get(name, b""))


class FakeService:
    """Listens on loopback, on a port it keeps when it dies and comes back."""

    def __init__(self, blobs: str) -> None:
        self.store = FileStore(blobs)
        self.attempts: dict[str, Heard] = {}
        self.changed = threading.Condition()
        self.losing_answers = 0  # this many reports are applied and then not answered
        self._port = 0
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> FakeService:
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.service = self
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def die(self) -> None:
        """As if killed: every connection breaks, what was acknowledged stays."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.cut()
            self._server = None

    def expect(self, attempt_id: str, orders: Orders, nodes: int = 1, token: str = "token") -> Heard:  # noqa: S107
        heard = self.attempts[attempt_id] = Heard(orders, nodes, token)
        return heard

    def wait(self, until: Callable[[], bool], seconds: float = 30.0) -> None:
        """Returns as soon as `until` holds; it is looked at whenever something was heard."""
        with self.changed:
            if not self.changed.wait_for(until, seconds):
                raise TimeoutError(f"Waited {seconds} s for what did not come.")

    def wait_final(self, attempt_id: str, seconds: float = 30.0) -> Heard:
        heard = self.attempts[attempt_id]
        self.wait(lambda: len(heard.final) == heard.nodes, seconds)
        return heard

    # What the handler calls

    def arrive(self, attempt_id: str, arrival: Arrival) -> Orders:
        heard = self.attempts[attempt_id]
        with self.changed:
            heard.arrivals[arrival.node] = arrival
            self.changed.notify_all()
            self.changed.wait_for(lambda: len(heard.arrivals) == heard.nodes or heard.cancel, 2.0)
        if heard.cancel or len(heard.arrivals) < heard.nodes:
            return Orders(go=False, cancel=heard.cancel)
        peers = tuple(Peer(one.node, one.host, one.address, one.ports) for _, one in sorted(heard.arrivals.items()))
        return replace(heard.orders, go=True, peers=peers)

    def report(self, attempt_id: str, node: int, body: bytes) -> ReportAnswer:
        heard = self.attempts[attempt_id]
        acked: dict[str, int] = {}
        with self.changed:
            for frame in decode(body):
                _apply(heard, node, frame, acked)
            self.changed.notify_all()
        done = len(heard.done | heard.ended.keys()) == heard.nodes
        return ReportAnswer(acked, heard.cancel, "canceled" if heard.cancel else "", done)


def _apply(heard: Heard, node: int, frame: Frame, acked: dict[str, int]) -> None:
    if frame.kind in ("log", "metrics", "system"):
        have = heard.streams.setdefault(frame.header["stream"], bytearray())
        if frame.header["offset"] <= len(have):
            have += frame.payload[len(have) - frame.header["offset"] :]
        acked[frame.header["stream"]] = len(have)
    elif frame.kind == "started":
        heard.started.add(node)
    elif frame.kind == "done":
        heard.done.add(node)
    elif frame.kind == "ended":
        heard.ended[node] = from_json(NodeEnded, frame.header)
    elif frame.kind == "files":
        heard.files.update({file.name: file for file in from_json(list[RunFile], json.loads(frame.payload))})
    elif frame.kind == "final":
        heard.final.add(node)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    service: FakeService

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was cut is what the test wanted."""

    def cut(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one write
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Tests look at what was heard, not at a log."""

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            answer, status = self._answer(self.path.removeprefix(API), body), 200
        except TrainyardError as error:
            answer, status = json.dumps({"error": error.to_json()}).encode(), 409
        service = self.server.service
        if service.losing_answers and self.path.endswith("/report"):
            service.losing_answers -= 1
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _answer(self, path: str, body: bytes) -> bytes:
        service = self.server.service
        if found := re.fullmatch(r"/attempts/([^/]+)/(?:(arrive)|nodes/(\d+)/report)", path):
            return self._attempt(found[1], found[3], body)
        if path == "/blobs/missing":
            return json.dumps(sorted(service.store.missing(json.loads(body)))).encode()
        if found := re.fullmatch(r"/blobs/([0-9a-f]{64})", path):
            if self.command == "PUT":
                service.store.put_bytes(body)
                return b""
            return service.store.read(found[1])
        if found := re.fullmatch(r"/workspaces/[^/]+/runs/([^/]+)/files", path):
            heards = [heard for heard in service.attempts.values() if heard.orders.run_id == found[1]]
            return json.dumps([to_json(file) for heard in heards for file in heard.files.values()]).encode()
        raise UnknownRun(path)

    def _attempt(self, attempt_id: str, node: str | None, body: bytes) -> bytes:
        service = self.server.service
        heard = service.attempts.get(attempt_id)
        if heard is None or heard.over:
            raise AttemptOver(attempt_id, 1)
        if self.headers.get("Authorization") != f"Bearer {heard.token}":
            raise NotAuthenticated("Wrong token. Use the attempt's own.")
        heard.requests.append((time.monotonic(), "arrive" if node is None else "report"))
        if node is None:
            return json.dumps(to_json(service.arrive(attempt_id, from_json(Arrival, json.loads(body))))).encode()
        return json.dumps(to_json(service.report(attempt_id, int(node), body))).encode()
