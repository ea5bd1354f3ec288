"""Requests to a deployed service, at its own address."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainyard.sdk.errors import WebserviceException

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


def post(uri: str, data: Any, headers: Mapping[str, str], *, timeout_s: float = TIMEOUT_S) -> ScoringAnswer:
    """`data` goes as it is; what is neither text nor bytes goes as JSON."""
    import http.client

    body = (
        data if isinstance(data, bytes | bytearray) else (data if isinstance(data, str) else json.dumps(data)).encode()
    )
    parts = urllib.parse.urlsplit(uri)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    said = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    try:
        connection.request("POST", parts.path or "/", bytes(body), said)
        answer = connection.getresponse()
        return ScoringAnswer(answer.status, dict(answer.getheaders()), answer.read())
    except (OSError, http.client.HTTPException) as error:
        raise WebserviceException(
            f"Could not reach the service at {uri}: {error}. Its state and get_logs() say more.", error
        ) from error
    finally:
        connection.close()


def get(uri: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 10.0) -> ScoringAnswer:
    import http.client

    parts = urllib.parse.urlsplit(uri)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request(
            "GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=headers or {}
        )
        answer = connection.getresponse()
        return ScoringAnswer(answer.status, dict(answer.getheaders()), answer.read())
    except (OSError, http.client.HTTPException) as error:
        raise WebserviceException(f"Could not reach {uri}: {error}. See get_logs().", error) from error
    finally:
        connection.close()
