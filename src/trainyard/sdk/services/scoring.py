"""Requests to a deployed service, at its own address."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainyard.sdk.errors import WebserviceException

if TYPE_CHECKING:
    import socket

TIMEOUT_S = 310.0  # a little more than the longest that a service is given for one request


@dataclass(frozen=True)
class ScoringAnswer:
    status: int
    headers: dict[str, str]
    content: bytes

    def value(self) -> Any:
        """What run() returned; WebserviceException unless it was answered."""
        if self.status != 200:
            raise WebserviceException(
                "Received bad response from service. More information can be found by calling `.get_logs()` on the "
                f"webservice object.\nResponse Code: {self.status}\nHeaders: {self.headers}\n"
                f"Content: {self.content[:10_000]!r}"
            )
        try:
            return json.loads(self.content)
        except ValueError:
            return self.content.decode("utf-8", "replace")  # an AMLResponse may be anything


def post(
    uri: str,
    data: Any,
    headers: Mapping[str, str],
    at: str | None = None,
    chain: str | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
) -> ScoringAnswer:
    """`data` goes as it is; what is neither text nor bytes goes as JSON. `at` is the address that it goes to where the
    name in `uri` may lead nowhere here; `chain` a certificate in PEM that is trusted, beside the system's."""
    body = (
        data if isinstance(data, bytes | bytearray) else (data if isinstance(data, str) else json.dumps(data)).encode()
    )
    said = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    return _asked("POST", uri, bytes(body), said, at, chain, timeout_s)


def get(
    uri: str,
    headers: Mapping[str, str],
    at: str | None = None,
    chain: str | None = None,
    *,
    timeout_s: float = 10.0,
) -> ScoringAnswer:
    return _asked("GET", uri, None, headers, at, chain, timeout_s)


def _asked(
    method: str,
    uri: str,
    body: bytes | None,
    headers: Mapping[str, str],
    at: str | None,
    chain: str | None,
    timeout_s: float,
) -> ScoringAnswer:
    import http.client
    import socket

    parts, there = urllib.parse.urlsplit(uri), urllib.parse.urlsplit(at or uri)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        address = (there.hostname or "", there.port or (443 if secure else 80))
        plain = socket.create_connection(address, timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sock = _secured(plain, parts.hostname, chain) if secure else plain
        connection.request(method, _path(parts), body, dict(headers))
        answer = connection.getresponse()
        return ScoringAnswer(answer.status, dict(answer.getheaders()), answer.read())
    except (OSError, http.client.HTTPException) as error:
        raise WebserviceException(
            f"Could not reach the service at {uri}: {error}. Its state and get_logs() say more.", error
        ) from error
    finally:
        connection.close()


def _secured(plain: socket.socket, name: str | None, chain: str | None) -> socket.socket:
    """A certificate that nobody but its owner signed is trusted for its own service, and for no other."""
    import ssl

    context = ssl.create_default_context()
    if chain is not None:
        context.load_verify_locations(cadata=chain)
        context.verify_flags |= getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0)  # Python 3.10
    try:
        return context.wrap_socket(plain, server_hostname=name)
    except BaseException:
        plain.close()
        raise


def _path(parts: urllib.parse.SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
