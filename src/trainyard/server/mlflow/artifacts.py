"""Files through MLflow: its artifact proxy, over the files of runs and the folders of logged models."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Connection
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from trainyard.blobs.incoming import Incoming
from trainyard.blobs.snapshot import read_manifest
from trainyard.contract.errors import InvalidRequest, NotFound, TrainyardError
from trainyard.contract.mlflow import MODELS, REGISTERED, RUNS
from trainyard.contract.names import check_file_name
from trainyard.contract.runs import RunFile
from trainyard.server.blobs.routes import blocks, content
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.identity.service import Principal
from trainyard.server.logs.follow import upto
from trainyard.server.mlflow import models
from trainyard.server.mlflow.wire import Call, refusal
from trainyard.server.registry import service as registry
from trainyard.server.runs.files import add_files, list_files, remove_files
from trainyard.server.runs.records import lineage, run_row
from trainyard.server.scope import Scope


@dataclass(frozen=True)
class Folder:
    """Where a client's path leads: a run's files, those of a model that no run made, or a registered model's."""

    kind: str
    owner: str
    path: str  # below it; "" for all of it


def listing(call: Call) -> dict[str, Any]:
    """The proxy's: names relative to the path."""
    wanted = call.text("path", default="")
    parts = [part for part in wanted.split("/") if part]
    if len(parts) < 2:
        return {"files": []}
    return {"files": [{**each, "path": posixpath.basename(each["path"])} for each in _listed(call, _folder(wanted))]}


def of_run(call: Call) -> dict[str, Any]:
    """The tracking API's: names relative to the run."""
    owner = call.text("run_id", "run_uuid")
    path = call.text("path", default="")
    folder = Folder(RUNS, owner, check_file_name(path) if path else "")
    return {"root_uri": call.address(f"{RUNS}/{owner}"), "files": _listed(call, folder)}


def of_model(call: Call) -> dict[str, Any]:
    path = call.text("artifact_directory_path", default="")
    with call.context.db.read() as tx:
        folder = models.folder_of(tx, call.workspace_id, call.text("model_id"))
    parts = _folder("/".join(part for part in (folder, path) if part))
    cut = len(parts.path) - len(path) if path else len(parts.path) + bool(parts.path)
    files = [{**each, "path": each["path"][cut:]} for each in _listed(call, parts)]
    return {"root_uri": call.address(folder), "files": files}


async def upload(request: Request) -> Response:
    """A file's bytes as they come; it has its name when all of them are here."""
    context, principal = context_of(request), principal_of(request)
    workspace_id = request.path_params["workspace_id"]
    try:
        principal.require_workspace(workspace_id)
        folder = _file(request.path_params["path"])
        await run_in_threadpool(_may_write, context, principal, workspace_id, folder)
        with Incoming(context.blobs) as incoming:
            async for block in blocks(request):
                await run_in_threadpool(incoming.write, block)
            blob = await run_in_threadpool(incoming.finish)
        await run_in_threadpool(_name, context, workspace_id, folder, RunFile(folder.path, blob.size, blob.digest))
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it; the client starts again
    except TrainyardError as error:
        return refusal(error)
    return Response("{}", media_type="application/json")


async def download(request: Request) -> Response:
    context = context_of(request)
    workspace_id = request.path_params["workspace_id"]
    try:
        principal_of(request).require_workspace(workspace_id)
        opened = await run_in_threadpool(_open, context, workspace_id, _file(request.path_params["path"]))
    except TrainyardError as error:
        return refusal(error)
    # bytes of users: never to be shown as a page of this service
    headers = {"Content-Length": str(opened.size), "X-Content-Type-Options": "nosniff"}
    headers["Content-Disposition"] = "attachment"
    return StreamingResponse(opened.stream(), media_type="application/octet-stream", headers=headers)


def remove(call: Call) -> None:
    folder = _folder(call.text("path"))
    if folder.kind == REGISTERED:
        raise InvalidRequest("A registered version does not change. Delete it as a whole.")
    with call.context.db.write() as tx:
        if folder.kind == RUNS:
            row = run_row(tx, call.workspace_id, folder.owner)
            call.principal.require_run(call.workspace_id, lineage(tx, row))
            remove_files(tx, row.key, folder.path)
        else:
            models.require_writable(tx, call.principal, call.workspace_id, folder.owner)
            models.remove_files(tx, call.workspace_id, folder.owner, folder.path)


@dataclass(frozen=True)
class _Opened:
    size: int
    stream: Callable[[], Any]


def _folder(path: str) -> Folder:
    parts = [part for part in path.split("/") if part]
    if len(parts) < 2 or parts[0] not in (RUNS, MODELS, REGISTERED):
        raise InvalidRequest(f"{path[:200]!r} is no place for files. They lie below {RUNS}/<run id> or {MODELS}/<id>.")
    rest = "/".join(parts[2:])
    return Folder(parts[0], parts[1], check_file_name(rest) if rest else "")


def _file(path: str) -> Folder:
    folder = _folder(path)
    if not folder.path:
        raise InvalidRequest(f"{path[:200]!r} is a folder. Give the path of a file in it.")
    return folder


def _listed(call: Call, folder: Folder) -> list[dict[str, Any]]:
    """What lies directly in the folder; of a file, the file itself."""
    with call.context.db.read() as tx:
        files = _files(tx, call.context, call.workspace_id, folder)
    below = f"{folder.path}/" if folder.path else ""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        if file.name == folder.path:
            found[file.name] = {"path": file.name, "is_dir": False, "file_size": file.size}
        elif file.name.startswith(below):
            name, deeper, _ = file.name[len(below) :].partition("/")
            whole = below + name
            found[whole] = (
                {"path": whole, "is_dir": True} if deeper else {"path": whole, "is_dir": False, "file_size": file.size}
            )
    return [found[name] for name in sorted(found)]


def _files(tx: Connection, context: Context, workspace_id: str, folder: Folder) -> list[RunFile]:
    if folder.kind == RUNS:
        return list_files(tx, context, run_row(tx, workspace_id, folder.owner).key)
    if folder.kind == REGISTERED:
        record = registry.get(tx, workspace_id, folder.owner)
        return [
            RunFile(each.path, each.size, each.digest)
            for each in read_manifest(context.blobs, record.content)
            if each.link is None
        ]
    return models.files(tx, workspace_id, folder.owner)


def _may_write(context: Context, principal: Principal, workspace_id: str, folder: Folder) -> None:
    if folder.kind == REGISTERED:
        raise InvalidRequest("A registered version does not change. Register another one.")
    with context.db.read() as tx:
        if folder.kind == RUNS:
            principal.require_run(workspace_id, lineage(tx, run_row(tx, workspace_id, folder.owner)))
        else:
            models.require_writable(tx, principal, workspace_id, folder.owner)


def _name(context: Context, workspace_id: str, folder: Folder, file: RunFile) -> None:
    with context.db.write() as tx:
        if folder.kind == RUNS:
            row = run_row(tx, workspace_id, folder.owner)
            add_files(tx, context, Scope(row.key, row.workspace_id, row.created_by), [file])
        else:
            models.add_file(tx, workspace_id, folder.owner, file)


def _open(context: Context, workspace_id: str, folder: Folder) -> _Opened:
    with context.db.read() as tx:
        found = next((f for f in _files(tx, context, workspace_id, folder) if f.name == folder.path), None)
        key = run_row(tx, workspace_id, folder.owner).key if folder.kind == RUNS else 0
    if found is None:
        raise NotFound(f"There is no file {folder.path!r} here. mlflow.artifacts.list_artifacts() lists what there is.")
    if found.digest is not None:
        file: IO[bytes] = context.blobs.open(found.digest)
        return _Opened(found.size, lambda: content(file))
    log = context.logs.find(key, found.name)
    assert log is not None
    return _Opened(end := log.size(), lambda: upto(log, 0, end))
