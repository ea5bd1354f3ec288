"""Requests over a real socket to a server that misbehaves on demand."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainyard.client.blobs import Blobs
from trainyard.client.http import Http, quoted
from trainyard.client.runs import Runs
from trainyard.client.service import Service
from trainyard.contract.errors import (
    DigestMismatch,
    NotAuthenticated,
    ServiceUnavailable,
    TooManyNodes,
    TrainyardError,
    UnknownRun,
)

Answer = tuple[int, bytes]
HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


class Server(http.server.ThreadingHTTPServer):
    """`answer` decides what is said; each request is kept. `cut` first connections end without an answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer: Callable[[Handler], Answer] = lambda _: (200, b"{}")
        self.requests: list[tuple[str, str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.cut = 0
        self.cut_inside = 0
        self.connections = 0

    def process_request(self, request, client_address):  # type: ignore[no-untyped-def]
        self.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients here go away in the middle


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def answer(self) -> None:
        if self.server.cut:
            self.server.cut -= 1
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, body))
        self.server.headers.append(dict(self.headers))
        status, data = self.server.answer(self)
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.server.cut_inside:
            self.server.cut_inside -= 1
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def http_client(server: Server) -> Iterator[Http]:
    http = Http(f"http://127.0.0.1:{server.server_port}/", "secret", None)
    yield http
    http.close()


def say(value: object, status: int = 200) -> Callable[[Handler], Answer]:
    return lambda _: (status, json.dumps(value).encode())


def test_a_request_s_form(server: Server, http_client: Http) -> None:
    server.answer = say({"a": 1})
    assert http_client.json("POST", "/x", {"b": [1]}, {"q": "a b", "none": None}) == {"a": 1}
    assert server.requests == [("POST", "/api/v1/x?q=a+b", b'{"b": [1]}')]
    assert server.headers[0]["Authorization"] == "Bearer secret"
    assert server.headers[0]["Content-Type"] == "application/json"
    assert quoted("b ü") == "b%20%C3%BC"
    assert (quoted("a/b"), quoted(""), quoted(5)) == ("a%252Fb", "%20", "5")  # names that nothing has


def test_an_empty_answer_is_nothing(server: Server, http_client: Http) -> None:
    server.answer = lambda _: (204, b"")
    assert http_client.json("DELETE", "/x") is None


def test_one_connection_is_kept(server: Server, http_client: Http) -> None:
    for _ in range(5):
        http_client.json("GET", "/x")
    assert server.connections == 1


def test_errors_come_back_as_what_they_were(server: Server, http_client: Http) -> None:
    server.answer = say({"error": UnknownRun("r").to_json()}, 404)
    with pytest.raises(UnknownRun, match=r"No run 'r' in this workspace\. See `trainyard runs list`\."):
        Runs(http_client, "w").get("r")
    server.answer = say({"error": TooManyNodes("cpu", 5, 4).to_json()}, 400)
    with pytest.raises(TooManyNodes) as caught:
        http_client.json("POST", "/x", {})
    assert caught.value.details["most"] == 4
    server.answer = say({"error": {"code": "auth.missing", "message": "Who are you?"}}, 401)
    with pytest.raises(NotAuthenticated, match="Who are you"):
        http_client.json("GET", "/x")
    server.answer = say({"error": {"code": "later.version", "message": "New."}}, 418)
    with pytest.raises(TrainyardError, match="New"):
        http_client.json("GET", "/x")
    with pytest.raises(TrainyardError, match="New"):
        list(http_client.stream("/x"))


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Bad gateway</html>",
        b"",
        b"[]",
        b"null",
        b'"text"',
        b'{"error": "text"}',
        b'{"error": null}',
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("status", [404, 502])
def test_an_error_from_something_else(server: Server, http_client: Http, status: int, body: bytes) -> None:
    server.answer = lambda _: (status, body)
    with pytest.raises(ServiceUnavailable, match=f"HTTP {status} by something that is not Trainyard"):
        http_client.json("GET", "/x")


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"{}", b"[1]", b'"text"', b"\xff", b""])
def test_a_success_from_something_else(server: Server, http_client: Http, body: bytes) -> None:
    server.answer = lambda _: (200, body)
    with pytest.raises(ServiceUnavailable, match="not Trainyard"):
        Service(http_client).status()


def test_a_broken_connection_is_tried_again(server: Server, http_client: Http, tmp_path: Path) -> None:
    server.answer = say({"a": 1})
    server.cut = 2
    assert http_client.json("POST", "/x", {"b": 1}) == {"a": 1}
    server.cut = 1  # a connection that was kept, and has died since
    assert http_client.json("POST", "/x", {"b": 2}) == {"a": 1}
    server.cut_inside = 1
    assert http_client.json("GET", "/x") == {"a": 1}
    (tmp_path / "file").write_bytes(b"hello")
    server.cut = 1
    with open(tmp_path / "file", "rb") as file:
        Blobs(http_client).put(HELLO, file)
    assert server.requests[-1] == ("PUT", f"/api/v1/blobs/{HELLO}", b"hello")
    assert server.headers[-1]["Content-Length"] == "5"


def test_a_service_that_never_answers_is_unavailable(server: Server, http_client: Http) -> None:
    server.cut = 100
    with pytest.raises(ServiceUnavailable, match=r"Cannot reach the service at http://127\.0\.0\.1:.*trainyard doctor"):
        http_client.json("GET", "/x")


def test_nobody_listens(server: Server) -> None:
    with Server() as gone:
        url = f"http://127.0.0.1:{gone.server_port}"
    with pytest.raises(ServiceUnavailable, match=r"Cannot reach the service"):
        Http(url, "t", None).json("GET", "/x")
    with pytest.raises(ServiceUnavailable, match=r"Cannot reach the service"):
        list(Http(url, "t", None).stream("/x"))


@pytest.mark.parametrize(
    "endpoint", ["yard.example.com", "ftp://host", "http://", "http://host:port", "http://[::1", "http://a..b:80"]
)
def test_an_endpoint_that_is_no_address(endpoint: str) -> None:
    with pytest.raises(ServiceUnavailable, match="is not an address such as http://host:port"):
        Http(endpoint, "t", None).json("GET", "/x")


def test_an_endpoint_without_a_token() -> None:
    with pytest.raises(ServiceUnavailable, match="Set it to your token"):
        Http.from_env({"TRAINYARD_ENDPOINT": "http://127.0.0.1:1"})._bearer()


def test_the_environment_comes_before_the_configuration() -> None:
    variables = {"TRAINYARD_ENDPOINT": "http://one", "TRAINYARD_TOKEN": "t"}
    assert Http.from_env(variables, "http://two").url == "http://one"
    assert Http.from_env({"TRAINYARD_TOKEN": "t"}, "http://two/").url == "http://two"


def test_streams(server: Server, http_client: Http) -> None:
    server.answer = lambda _: (200, b"x" * 100_000)
    assert b"".join(http_client.stream("/log", {"offset": 3})) == b"x" * 100_000
    assert server.requests == [("GET", "/api/v1/log?offset=3", b"")]
    server.cut = 1
    assert len(b"".join(http_client.stream("/log"))) == 100_000
    reading = http_client.stream("/log")
    next(reading)
    reading.close()  # a reader that has seen enough


def test_a_stream_that_breaks_says_so(server: Server, http_client: Http) -> None:
    server.answer = lambda _: (200, b"x" * 100_000)
    server.cut_inside = 1
    got: list[bytes] = []
    with pytest.raises(ServiceUnavailable, match="broke"):
        got.extend(http_client.stream("/log"))
    assert b"".join(got) == b"x" * 50_000


def test_blobs_are_checked_on_arrival(server: Server, http_client: Http, tmp_path: Path) -> None:
    blobs = Blobs(http_client)
    server.answer = lambda _: (200, b"hello")
    assert blobs.read(HELLO) == b"hello"
    server.answer = lambda _: (200, b"hellO")
    with pytest.raises(DigestMismatch):
        blobs.read(HELLO)
    with pytest.raises(DigestMismatch), open(tmp_path / "x", "wb") as file:
        blobs.fetch(HELLO, file)


def test_threads_have_connections_of_their_own(server: Server, http_client: Http) -> None:
    server.answer = lambda request: (200, json.dumps(request.path).encode())
    wrong: list[str] = []

    def ask(number: int) -> None:
        for turn in range(20):
            path = f"/{number}/{turn}"
            if http_client.json("GET", path) != f"/api/v1{path}":
                wrong.append(path)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert server.connections == 6
