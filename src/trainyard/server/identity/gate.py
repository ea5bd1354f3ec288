"""Stands before every route: no credentials, no answer. Routes need not remember to ask."""

from __future__ import annotations

import html
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from trainyard import __version__
from trainyard.contract.errors import NotAllowed, NotAuthenticated, TrainyardError, VersionMismatch
from trainyard.contract.service import API, understands
from trainyard.server.answers import status_of
from trainyard.server.identity.service import Authenticator
from trainyard.server.settings import LOOPBACK

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


# What makes room for a service of another version.
FOR_ANY_VERSION = (f"{API}/status", f"{API}/stop")

_PAGE = """<!doctype html><title>Trainyard</title>
<body style="font: 16px/1.5 sans-serif; margin: 4em auto; max-width: 40em">
<h1>Trainyard</h1><p>This service answers programs that have its token. There are no pages to browse yet.</p>
<p>In a terminal, <code>trainyard runs list</code> and <code>trainyard runs show RUN</code> show what is here.</p>
<p style="color: #666">{}</p>
"""


class Gate:
    """ASGI middleware. Puts the principal into the request's state, or answers 401 itself. On a loopback service
    the Host header must be loopback too, so that a web page cannot reach it under a name of its own."""

    def __init__(self, app: App, authenticator: Authenticator, loopback: bool, on_request: Callable[[], None]) -> None:
        self._app = app
        self._authenticator = authenticator
        self._loopback = loopback
        self._on_request = on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
            scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            if scheme.lower() != "bearer" or not token:
                raise NotAuthenticated("This needs a token: `Authorization: Bearer <token>`. See `trainyard doctor`.")
            scope.setdefault("state", {})["principal"] = self._authenticator.authenticate(token.strip())
            if scope["path"] not in FOR_ANY_VERSION:
                _check_version(headers.get(b"x-trainyard-version", b"").decode("latin-1"))
        except TrainyardError as error:
            await _answer(send, status_of(error), error, page=b"text/html" in headers.get(b"accept", b""))
            return
        self._on_request()
        await self._app(scope, receive, send)

    def _check_host(self, host: str) -> None:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self._loopback and name.strip("[]") not in LOOPBACK:
            raise NotAllowed(f"This service answers on loopback only, not as {host!r}. Use 127.0.0.1.")


def _check_version(client: str) -> None:
    """Clients of ours say which version they are; others speak HTTP as the API documents it."""
    if client and not understands(__version__, client):
        raise VersionMismatch(__version__, client)


async def _answer(send: Send, status: int, error: TrainyardError, page: bool) -> None:
    """JSON for programs; for a browser (somebody followed a run's Web View) the same in words."""
    if page:
        kind, body = b"text/html; charset=utf-8", _PAGE.format(html.escape(error.message)).encode()
    else:
        kind, body = b"application/json", json.dumps({"error": error.to_json()}).encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
