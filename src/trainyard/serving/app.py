"""The HTTP side of a service."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from trainyard.scoring.wire import Request
from trainyard.serving import metrics
from trainyard.serving.bodies import Bodies, BodyRefused, linger
from trainyard.serving.gate import Gate
from trainyard.serving.journal import Journal
from trainyard.serving.metrics import Metrics
from trainyard.serving.pool import Busy, Pool
from trainyard.serving.process import RanTooLong, WorkerDied
from trainyard.serving.router import VERSION_HEADER, NoSuchVersion, Router

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_JSON: Headers = [(b"content-type", b"application/json")]
_ID_HEADERS = (b"x-request-id", b"x-ms-request-id", b"x-ms-client-request-id")
_LONGEST_ID = 100
_SCORED = ("POST", "GET", "OPTIONS")
_SKIPPED_FOR_RAW = (b"authorization",)  # the key is the gate's business


class State(Protocol):
    """What the front knows, as a request needs it: read anew each time, since plans change."""

    name: str
    gate: Gate
    router: Router
    bodies: Bodies
    failure: str | None


class Refusal(Exception):
    def __init__(self, status: int, message: str, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or []


def make_app(state: State, counts: Metrics, journal: Journal) -> Guarded:
    score = Scoring(state, counts, journal)
    base = f"/api/v1/service/{state.name}"
    pages = Pages(state, counts)
    routes = [
        *(Route(f"{prefix}/score", score, methods=list(_SCORED)) for prefix in ("", base)),
        *(Route(f"{prefix}/swagger.json", pages.swagger, methods=["GET"]) for prefix in ("", base)),
        # as TensorFlow Serving's clients ask
        Route("/v1/models/{model:path}:predict", score, methods=["POST"]),
        Route("/v1/models/{model:path}/metadata", pages.metadata, methods=["GET"]),
        Route("/v1/models/{model:path}", pages.model, methods=["GET", "POST"]),
        Route("/metrics", pages.metrics, methods=["GET"]),
        Route("/", pages.health, methods=["GET"]),
        Route(f"{base}/", pages.health, methods=["GET"]),
        Route(base, pages.health, methods=["GET"]),
    ]
    return Guarded(state, Starlette(routes=routes), score, {"/score", f"{base}/score"})


class Guarded:
    """No answer but 401 without a key, whatever the path. Requests to score go to their application without Starlette's
    way through the routes, which would cost them more than all the rest."""

    def __init__(self, state: State, app: Starlette, score: Scoring, scored: set[str]) -> None:
        self._state = state
        self._app = app
        self._score = score
        self._scored = scored

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = _header(scope["headers"], b"authorization")
        if not self._state.gate.lets_in(given):
            message = "This service needs a key or token: send the header Authorization: Bearer KEY."
            extra = [(b"www-authenticate", b"Bearer"), (b"connection", b"close")]
            lingering = linger(scope["headers"], receive)
            await _send(send, 401, [*_JSON, *extra], _message(message), lingering)
        elif scope["path"] in self._scored and scope["method"] in _SCORED:
            await self._score(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class Scoring:
    """An ASGI application: a request passes here without Starlette's own objects."""

    def __init__(self, state: State, counts: Metrics, journal: Journal) -> None:
        self._state = state
        self._counts = counts
        self._journal = journal
        self._copies: set[asyncio.Task[None]] = set()  # in work: kept from the collector
        self._first = str(uuid.uuid4())[:24].encode()  # of the identities that we give; the rest is counted
        self._number = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        version = ""
        ids: dict[bytes, bytes] = {}
        lingering = None
        try:
            given = dict(scope["headers"])
            ids = self._ids(given)
            pool = self._choose(given.get(VERSION_HEADER, b""))
            version = pool.scorer.version
            with self._state.bodies.room() as room:
                body = await room.read(given.get(b"content-length", b""), receive)
                if pool not in self._state.router.pools:  # another plan has the traffic by now
                    pool = self._choose(given.get(VERSION_HEADER, b""))
                    version = pool.scorer.version
                status, headers, answer = await self._score(pool, scope, receive, body)
        except Refusal as refusal:
            status, headers, answer = refusal.status, [*_JSON, *refusal.headers], _message(refusal.message)
        except BodyRefused as refused:
            status, headers, answer = refused.status, [*_JSON, (b"connection", b"close")], _message(refused.message)
            lingering = linger(scope["headers"], receive)
        headers += [(name, value) for name, value in ids.items() if value]
        took = time.perf_counter() - began
        self._counts.answered(version, status, took)
        number = ids.get(b"x-request-id", b"-").decode("latin-1")
        self._journal.request(scope["method"], _target(scope), status, took * 1000, len(answer), version or "-", number)
        await _send(send, status, headers, answer, lingering)

    def _ids(self, given: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """The request's identities, which its answer carries back. Some clients know only one of the names."""
        own, legacy, client = [given.get(name, b"") for name in _ID_HEADERS]
        for name, value in zip(_ID_HEADERS, (own, legacy, client), strict=True):
            if len(value) > _LONGEST_ID:
                raise Refusal(431, f"{name.decode()} must not exceed {_LONGEST_ID} characters")
        if not own:
            self._number += 1
            own = b"%s%012x" % (self._first, self._number)
        return dict(zip(_ID_HEADERS, (own, legacy or client or own, client or legacy), strict=True))

    def _choose(self, version: bytes) -> Pool:
        router = self._state.router
        try:
            return _chosen(router, version)
        except NoSuchVersion as error:
            if not router.pools:
                why = self._state.failure or "Its first version is starting."
                message = f"This service has nothing to answer with. {why}"
                raise Refusal(503, message, [(b"retry-after", b"1")]) from error
            raise Refusal(404, str(error)) from error

    async def _score(self, pool: Pool, scope: Scope, receive: Receive, body: bytes) -> tuple[int, Headers, bytes]:
        request = _request(pool, scope, body)
        for mirror in self._state.router.mirrors(pool):
            self._mirror(mirror, _request(mirror, scope, body))
        try:
            scored = await pool.score(request, _gone(receive))
        except Busy as busy:
            raise Refusal(503, str(busy), [(b"retry-after", b"1")]) from busy
        except WorkerDied as died:
            status = 500 if isinstance(died, RanTooLong) else 502
            message = f"{died}. The log of the service says more."
            raise Refusal(status, message, [(b"x-ms-run-function-failed", b"True")]) from died
        version = pool.scorer.version
        self._counts.ran(version, scored.run_ms / 1000, scored.batch)
        headers = [
            (name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in scored.answer.headers
        ]
        headers.append((b"x-ms-run-fn-exec-ms", b"%.3f" % scored.run_ms))
        headers.append((VERSION_HEADER, version.encode("latin-1", "replace")))
        return scored.answer.status, headers, scored.answer.body

    def _mirror(self, pool: Pool, request: Request) -> None:
        """Only when it has nothing better to do: a copy must never cost an answer."""
        if pool.waiting:
            self._counts.mirrored(pool.scorer.version, 503)
            return

        async def copy() -> None:
            try:
                scored = await pool.score(request)
                self._counts.mirrored(pool.scorer.version, scored.answer.status)
            except (Busy, WorkerDied):
                self._counts.mirrored(pool.scorer.version, 503)

        task = asyncio.create_task(copy())
        self._copies.add(task)
        task.add_done_callback(self._copies.discard)


class Pages:
    def __init__(self, state: State, counts: Metrics) -> None:
        self._state = state
        self._counts = counts

    async def health(self, _: HttpRequest) -> Response:
        healthy = any(pool.crew.ready for pool in self._state.router.pools)
        return PlainTextResponse("Healthy" if healthy else "Unhealthy", 200 if healthy else 503)

    async def metrics(self, _: HttpRequest) -> Response:
        return Response(self._counts.text(self._state.router.pools), media_type=metrics.CONTENT_TYPE)

    async def swagger(self, request: HttpRequest) -> Response:
        asked = request.query_params.get("version", "2").removesuffix(".0")
        try:
            pool = _chosen(self._state.router, _header(request.scope["headers"], VERSION_HEADER))
        except NoSuchVersion as error:
            return JSONResponse({"message": str(error)}, 404)
        documents = pool.crew.ready_as.swagger
        if asked not in documents:
            known = ", ".join(sorted(documents)) or "none"
            message = f"There is no swagger document of version {asked!r} for this service (there are: {known})."
            return JSONResponse({"message": message}, 404)
        return JSONResponse(documents[asked])

    async def model(self, request: HttpRequest) -> Response:
        """Which versions there are, as TensorFlow Serving says it. Whatever the model is called: there is one."""
        if request.method == "POST":
            message = "Only :predict is answered here: POST /v1/models/NAME:predict."
            return JSONResponse({"error": message}, 404)
        told = [
            {
                "version": pool.scorer.version,
                "state": "AVAILABLE" if pool.crew.ready else "LOADING",
                "status": {"error_code": "OK", "error_message": ""},
            }
            for pool in self._state.router.pools
        ]
        if not told:
            return JSONResponse({"error": self._state.failure or "The first version is starting."}, 503)
        return JSONResponse({"model_version_status": told})

    async def metadata(self, request: HttpRequest) -> Response:
        """The signatures of a SavedModel, likewise."""
        try:
            pool = _chosen(self._state.router, _header(request.scope["headers"], VERSION_HEADER))
        except NoSuchVersion as error:
            return JSONResponse({"error": str(error)}, 404)
        signatures = pool.crew.ready_as.signatures
        if not signatures:
            return JSONResponse({"error": "This is no SavedModel, so it has no signatures. See /swagger.json."}, 404)
        name = request.path_params["model"].partition("/")[0]
        spec = {"name": name, "signature_name": "", "version": pool.scorer.version}
        return JSONResponse({"model_spec": spec, "metadata": {"signature_def": {"signature_def": signatures}}})


def _chosen(router: Router, version: bytes) -> Pool:
    return router.named(version.decode("latin-1")) if version else router.next()


def _header(headers: Headers, name: bytes) -> bytes:
    return next((value for key, value in headers if key == name), b"")


def _request(pool: Pool, scope: Scope, body: bytes) -> Request:
    if pool.crew.ready_as.raw:
        found = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in scope["headers"]
            if name not in _SKIPPED_FOR_RAW
        ]
    else:
        found = [("content-type", _header(scope["headers"], b"content-type").decode("latin-1"))]
    return Request(body, scope["method"], scope["path"], scope["query_string"].decode("latin-1"), tuple(found))


def _gone(receive: Receive) -> Callable[[], bool]:
    """Whether the client has hung up: uvicorn's request cycle knows, and asking it costs nothing."""
    cycle = getattr(receive, "__self__", None)
    return lambda: bool(getattr(cycle, "disconnected", False))


def _target(scope: Scope) -> str:
    """The path as it was asked for, with nothing in it that could break a line of the log."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return (path + b"?" + query if query else path).decode("ascii", "backslashreplace")


def _message(text: str) -> bytes:
    return json.dumps({"message": text}).encode()


async def _send(
    send: Send, status: int, headers: Headers, body: bytes, lingering: Awaitable[None] | None = None
) -> None:
    """`lingering`: between the answer and the end of the request."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    if lingering is not None:
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await lingering
        body = b""
    await send({"type": "http.response.body", "body": body})
