"""Blobs over HTTP: plain Starlette routes that hold a block at a time, whatever a blob's size.

A blob belongs to no workspace: who knows its digest knows its content, so a valid token is all that is asked for.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import IO

from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from trainyard.blobs.incoming import Incoming
from trainyard.contract.errors import InvalidRequest
from trainyard.server.context import context_of

BLOCK = 1 << 20
_MOST_ASKED = 64 << 20  # bytes of a question: about a million digests
_BYTES = "application/octet-stream"


async def missing(request: Request) -> Response:
    """Those of the digests asked about that are not here."""
    asked = bytearray()
    async for part in request.stream():
        asked += part
        if len(asked) > _MOST_ASKED:
            raise InvalidRequest("That is about a million digests in one question. Ask in parts.")
    try:
        digests = json.loads(asked)
    except ValueError as error:
        raise InvalidRequest("Send a JSON list of digests.") from error
    if not isinstance(digests, list) or not all(isinstance(digest, str) for digest in digests):
        raise InvalidRequest("Send a JSON list of digests.")
    found = await run_in_threadpool(context_of(request).blobs.missing, digests)
    return JSONResponse([digest for digest in dict.fromkeys(digests) if digest in found])


async def put(request: Request) -> Response:
    """Store the body under its digest. What is here already is read to its end and not written again."""
    store, digest = context_of(request).blobs, request.path_params["digest"]
    if not await run_in_threadpool(store.missing, [digest]):
        async for _ in request.stream():
            pass
        return Response(status_code=204)
    try:
        with Incoming(store, digest) as incoming:
            async for block in blocks(request):
                await run_in_threadpool(incoming.write, block)
            await run_in_threadpool(incoming.finish)
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it; the peer starts again
    return Response(status_code=204)


async def get(request: Request) -> Response:
    """The content as it is on the disk; the peer checks its digest."""
    store, digest = context_of(request).blobs, request.path_params["digest"]
    size = await run_in_threadpool(store.size, digest)
    file = await run_in_threadpool(store.open, digest)
    return StreamingResponse(content(file), media_type=_BYTES, headers={"Content-Length": str(size)})


async def blocks(request: Request) -> AsyncIterator[bytes]:
    """The body in blocks worth a trip to a thread."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size >= BLOCK:
            yield b"".join(parts)
            parts, size = [], 0
    if size:
        yield b"".join(parts)


async def content(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while data := await run_in_threadpool(file.read, BLOCK):
            yield data
    finally:
        file.close()


ROUTES = [
    Route("/blobs/missing", missing, methods=["POST"]),
    Route("/blobs/{digest}", put, methods=["PUT"]),
    Route("/blobs/{digest}", get, methods=["GET"]),
]
