"""What a model is made of: a tree in the store, sent by a client or gathered from a run's files."""

from __future__ import annotations

import posixpath

from sqlalchemy import Connection

from trainyard.blobs.base import BlobStore
from trainyard.blobs.bundle import Bundled, bundle
from trainyard.blobs.trees import walk
from trainyard.contract.errors import InvalidRequest, UnknownBlob, UnknownModelPath
from trainyard.contract.models import Lineage, ModelSource
from trainyard.contract.names import check_file_name
from trainyard.contract.runs import RunFile
from trainyard.server.context import Context
from trainyard.server.runs.files import list_files
from trainyard.server.runs.records import RunRow, run_row

_TOLD = ("azureml.git.", "mlflow.", "ContentSnapshotId")  # a run's properties that say where its code is from


def of_run(tx: Connection, context: Context, workspace_id: str, run_id: str) -> tuple[Lineage, list[RunFile]]:
    row = run_row(tx, workspace_id, run_id)
    return _lineage(row), list_files(tx, context, row.key)


def gathered(store: BlobStore, source: ModelSource, run_id: str, files: list[RunFile]) -> str:
    """The tree of a run's file or folder, which keeps its last name."""
    path = check_file_name(source.path)
    chosen = {file.name: file for file in files if file.name == path or file.name.startswith(path + "/")}
    if source.child_paths:
        below = tuple(posixpath.join(path, check_file_name(child)) for child in source.child_paths)
        chosen = {name: it for name, it in chosen.items() if any(name == b or name.startswith(b + "/") for b in below)}
    if not chosen:
        raise UnknownModelPath(run_id, str(source.path), [file.name for file in files])
    if logs := [name for name, file in chosen.items() if file.digest is None]:
        raise InvalidRequest(f"{logs[0]} is a log, not a file that the run has finished. Choose a path below outputs/.")
    above = posixpath.dirname(path)
    return bundle(
        store,
        (
            Bundled(posixpath.relpath(name, above) if above else name, file.size, str(file.digest))
            for name, file in chosen.items()
        ),
    )


def measured(store: BlobStore, content: str) -> tuple[int, int]:
    """How many files and bytes a tree has; everything it names must be in the store."""
    files = [file for _, tree in walk(store, content) for file in tree.files]
    if not files:
        raise InvalidRequest("A model needs at least one file. Give model_path a file, or a folder that is not empty.")
    for digest in store.missing({file.digest for file in files}):
        raise UnknownBlob(digest)
    return len(files), sum(file.size for file in files)


def _lineage(row: RunRow) -> Lineage:
    spec = row.spec or {}
    environment = spec.get("environment") or {}
    return Lineage(
        run_id=row.run_id,
        experiment=row.experiment_id,
        snapshot_id=row.snapshot_id or row.properties.get("ContentSnapshotId"),
        environment=environment.get("name"),
        environment_version=environment.get("version"),
        environment_fingerprint=environment.get("fingerprint"),
        environment_lock=environment.get("lock"),
        interpreter=environment.get("interpreter") if environment.get("user_managed") else None,
        properties={name: value for name, value in row.properties.items() if name.startswith(_TOLD)},
    )
