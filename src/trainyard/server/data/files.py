"""The files of datastores over HTTP, for whoever does not see them: plain routes, every byte passes through here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from itertools import islice

from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from trainyard.blobs.base import disk_errors
from trainyard.blobs.depots.base import Depot, checked_path
from trainyard.contract.codec import to_json
from trainyard.contract.data import DataFile
from trainyard.contract.errors import InvalidRequest, NoSuchData
from trainyard.server.context import context_of, principal_of
from trainyard.server.data import stores

_PAGE = 10_000


async def listing(request: Request) -> Response:
    """One page of the files below `folder`, from after the path `after` on."""
    depot = await _depot(request)
    folder, after = request.query_params.get("folder", ""), request.query_params.get("after")
    files = await run_in_threadpool(_page, depot, folder, after)
    return JSONResponse([to_json(file) for file in files])


async def look(request: Request) -> Response:
    depot = await _depot(request)
    file = await run_in_threadpool(depot.look, _path(request))
    return JSONResponse(to_json(file))


async def read(request: Request) -> Response:
    depot, path = await _depot(request), _path(request)
    version = request.query_params.get("version", "")
    try:
        offset = int(request.query_params.get("offset", "0"))
    except ValueError as error:
        raise InvalidRequest("offset is a number of bytes.") from error
    file = await run_in_threadpool(depot.look, path)
    if file is None:
        raise NoSuchData(f"There is no file {path!r} in the datastore. Check its path.")
    blocks = depot.read(path, offset, version)
    first = await run_in_threadpool(next, blocks, b"")  # what is wrong from the start is an answer of its own
    size = str(max(0, file.size - offset))
    return StreamingResponse(
        _content(first, blocks), media_type="application/octet-stream", headers={"Content-Length": size}
    )


async def put(request: Request) -> Response:
    """Kept aside until all of it is here, so that a broken upload leaves nothing."""
    principal_of(request).require_workspace(request.path_params["workspace_id"])
    depot, path = await _depot(request), _path(request)
    folder = context_of(request).settings.folder("incoming")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with disk_errors(folder), tempfile.NamedTemporaryFile(dir=folder) as aside:
        try:
            async for block in request.stream():
                await run_in_threadpool(aside.write, block)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it; the peer starts again
        aside.flush()
        await run_in_threadpool(depot.put, path, aside.name)
    return Response(status_code=204)


async def delete(request: Request) -> Response:
    depot = await _depot(request)
    await run_in_threadpool(depot.delete, _path(request))
    return Response(status_code=204)


async def _depot(request: Request) -> Depot:
    workspace_id = request.path_params["workspace_id"]
    principal_of(request).require_workspace(workspace_id)
    return await run_in_threadpool(stores.depot_of, context_of(request), workspace_id, request.path_params["name"])


def _path(request: Request) -> str:
    if not (path := checked_path(request.query_params.get("path", ""))):
        raise InvalidRequest("path names the file.")
    return path


def _page(depot: Depot, folder: str, after: str | None) -> list[DataFile]:
    files: Iterator[DataFile] = depot.list(folder)
    if after is not None:
        for file in files:
            if file.path == after:
                break
    return list(islice(files, _PAGE))


async def _content(first: bytes, blocks: Iterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    while data := await run_in_threadpool(next, blocks, b""):
        yield data


_BELOW = "/workspaces/{workspace_id}/datastores/{name}"
ROUTES = [
    Route(f"{_BELOW}/files", listing, methods=["GET"]),
    Route(f"{_BELOW}/file", look, methods=["GET"]),
    Route(f"{_BELOW}/content", read, methods=["GET"]),
    Route(f"{_BELOW}/content", put, methods=["PUT"]),
    Route(f"{_BELOW}/content", delete, methods=["DELETE"]),
]
