"""One HTTP connection per thread to a service, kept alive, found again when it moved."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.parse
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

from trainyard import __version__
from trainyard.client.home import Home
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import ServiceUnavailable, TrainyardError
from trainyard.contract.service import API

if TYPE_CHECKING:
    import http.client

T = TypeVar("T")
Body = bytes | IO[bytes] | None

TIMEOUT_S = 60.0
_PAUSES_S = (0.0, 0.05, 0.25, 1.0)


class Http:
    """Requests to one service: a fixed `endpoint`, or wherever the service of `home` is now (started if need be).

    Every request we make may be sent twice without harm (ids are made by the sender, streams carry offsets), so a
    broken connection is simply tried again.
    """

    def __init__(self, endpoint: str | None, token: str | None, home: Home | None, *, start: bool = True) -> None:
        self._endpoint = endpoint.rstrip("/") if endpoint else None
        self._token = token
        self.home = home
        self._start = start
        self._local = threading.local()

    @classmethod
    def from_env(cls, variables: Mapping[str, str], endpoint: str | None = None) -> Self:
        """What TRAINYARD_ENDPOINT, or `endpoint` of config.json, or the embedded home says."""
        endpoint = variables.get("TRAINYARD_ENDPOINT") or endpoint
        if endpoint:
            return cls(endpoint, variables.get("TRAINYARD_TOKEN"), None)
        return cls(None, None, Home.default(dict(variables)))

    @property
    def url(self) -> str:
        """The service's address now."""
        if self._endpoint:
            return self._endpoint
        assert self.home is not None
        running = self.home.ensure_running() if self._start else self.home.running()
        if running is None:
            raise ServiceUnavailable(f"No service runs for {self.home.path}. Start it with `trainyard server`.")
        return running.url

    def json(self, method: str, path: str, value: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        """Send a record (or nothing), get plain JSON back."""
        body = json.dumps(to_json(value)).encode() if value is not None else None
        answer = self.send(method, path, body, query, content_type="application/json")
        try:
            return json.loads(answer) if answer else None
        except ValueError as error:
            raise _foreign(path, "text that is no JSON") from error

    def get(self, kind: type[T], path: str, query: Mapping[str, Any] | None = None) -> T:
        return _fitting(kind, self.json("GET", path, query=query), path)

    def post(self, kind: type[T], path: str, value: Any = None, query: Mapping[str, Any] | None = None) -> T:
        return _fitting(kind, self.json("POST", path, value, query), path)

    def send(
        self,
        method: str,
        path: str,
        body: Body = None,
        query: Mapping[str, Any] | None = None,
        content_type: str = "application/octet-stream",
    ) -> bytes:
        """The whole answer's body. Errors come back as the exceptions the service raised."""

        def ask() -> tuple[int, bytes]:
            connection = self._held() or self._remember(self._connect(TIMEOUT_S))
            if body is not None and not isinstance(body, bytes):
                body.seek(0)
            with self._request(connection, method, path, body, query, content_type) as response:
                return response.status, response.read()

        status, data = self._until_answered(ask)
        if status >= 400:
            raise _error(status, data, path)
        return data

    def stream(self, path: str, query: Mapping[str, Any] | None = None, size: int = 1 << 16) -> Iterator[bytes]:
        """The answer's body as it comes. The connection is its own: it ends with the iterator. One that breaks is
        ServiceUnavailable; whoever knows how much it has may ask for the rest."""
        import http.client

        def ask() -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
            connection = self._connect(timeout=None)
            try:
                return connection, self._request(connection, "GET", path, None, query, "")
            except BaseException:
                connection.close()
                raise

        connection, response = self._until_answered(ask)
        try:
            if response.status >= 400:
                raise _error(response.status, response.read(), path)
            while data := response.read1(size):
                yield data
            if response.length:  # of the bytes that were announced
                raise http.client.IncompleteRead(b"", response.length)
        except (OSError, http.client.HTTPException) as error:
            raise ServiceUnavailable(f"The connection broke while {path} was read: {error}. Try again.") from error
        finally:
            connection.close()

    def close(self) -> None:
        """Let this thread's connection go; the next request makes a new one."""
        if (held := getattr(self._local, "held", None)) is not None:
            held.close()
            self._local.held = None

    def _until_answered(self, ask: Callable[[], T]) -> T:
        import http.client

        failed: Exception | None = None
        try:
            for pause in _PAUSES_S:
                time.sleep(pause)
                try:
                    return ask()
                except (OSError, http.client.HTTPException) as error:
                    self.close()
                    failed = error
            where = self._endpoint or (self.home.path if self.home else "?")
            raise ServiceUnavailable(
                f"Cannot reach the service at {where}: {failed}. Is it running, and is the address right? "
                "`trainyard status` and `trainyard doctor` say more."
            ) from failed
        finally:
            failed = None  # an error and the frame that holds it would keep each other, and the connection

    def _request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Body,
        query: Mapping[str, Any] | None,
        content_type: str,
    ) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self._bearer()}", "X-Trainyard-Version": __version__}
        if body is not None:
            headers["Content-Type"] = content_type
            if not isinstance(body, bytes):
                headers["Content-Length"] = str(os.fstat(body.fileno()).st_size)
        given = {key: value for key, value in (query or {}).items() if value is not None}
        url = API + path + ("?" + urllib.parse.urlencode(given) if given else "")
        connection.request(method, url, body=body, headers=headers)
        return connection.getresponse()

    def _bearer(self) -> str:
        if self._token is None and self.home is not None:
            self._token = self.home.token()
        if not self._token:
            raise ServiceUnavailable(f"{self.url} needs a token and TRAINYARD_TOKEN is not set. Set it to your token.")
        return self._token

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        import http.client

        url = self.url
        try:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("no scheme or no host")
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            connection = kind(parts.hostname, parts.port, timeout=timeout or TIMEOUT_S)
            connection.connect()
        except ValueError as error:
            raise ServiceUnavailable(
                f"{url!r} is not an address such as http://host:port. Correct TRAINYARD_ENDPOINT, or `endpoint` in "
                "config.json."
            ) from error
        if timeout is None:
            connection.sock.settimeout(None)
        return connection

    def _held(self) -> http.client.HTTPConnection | None:
        held: _Held | None = getattr(self._local, "held", None)
        return held.connection if held else None

    def _remember(self, connection: http.client.HTTPConnection) -> http.client.HTTPConnection:
        self._local.held = _Held(connection)
        return connection


class _Held:
    """A thread's connection. It is closed when nobody has it any more: the thread ended, or the Http is gone. Not by
    `__del__`: of what goes in a cycle the socket's own may be called first, and that complains."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.close = weakref.finalize(self, connection.close)


def quoted(part: object) -> str:
    """One segment of a path. What cannot be one (nothing, or a text with a slash) becomes a name that nothing has: the
    service then says that this is not there, and what is."""
    return urllib.parse.quote(str(part).replace("/", "%2F") or " ", safe="")


def _fitting(kind: type[T], value: Any, path: str) -> T:
    try:
        return from_json(kind, value)
    except (TypeError, ValueError, AttributeError) as error:
        raise _foreign(path, "a record of another kind") from error


def _error(status: int, data: bytes, path: str) -> TrainyardError:
    try:
        return TrainyardError.from_json(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return _foreign(path, f"HTTP {status}")


def _foreign(path: str, what: str) -> ServiceUnavailable:
    return ServiceUnavailable(
        f"{path} was answered with {what} by something that is not Trainyard, or a version that does not fit this one. "
        "Check the endpoint's address."
    )
