"""Files into a datastore and out of it, many at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainyard.sdk.errors import UserErrorException, sdk_errors
from trainyard.sdk.progress import Progress

if TYPE_CHECKING:
    from trainyard.blobs.base import BlobStore
    from trainyard.blobs.depots.base import Depot
    from trainyard.blobs.depots.resolve import Entry
    from trainyard.contract.runs import RunFile

_THREADS = 8


def upload(depot: Depot, files: Sequence[tuple[str, str]], folder: str, *, overwrite: bool, show: bool) -> int:
    """(file here, path below `folder`) for each; answers how many were stored."""
    from trainyard.blobs.base import in_threads
    from trainyard.blobs.depots.base import checked_path

    with sdk_errors():
        targets = [(path, checked_path(f"{folder}/{below}")) for path, below in files]
        taken: set[str] = set() if overwrite else _taken(depot, targets, folder)
        todo = [(path, target) for path, target in targets if target not in taken]
        told = Progress(("Uploading", "Uploaded"), len(todo), sum(_size(path) for path, _ in todo), show=show)

        def put(pair: tuple[str, str]) -> None:
            path, target = pair
            depot.put(target, path)
            told(1, _size(path))

        # a disk of this machine is not faster for several at once: threads only get into each other's way there
        in_threads(put, todo, 1 if depot.local("") is not None else _THREADS, few=2)
    told.done(skipped=len(targets) - len(todo))
    return len(todo)


def download(entries: Sequence[Entry], folder: str, *, overwrite: bool, show: bool) -> list[str]:
    """Every entry as a file below `folder`, through this machine's cache; answers the paths."""
    from trainyard.sdk.data.data_here import cache

    paths = [os.path.join(folder, entry.path) for entry in entries]
    existing = [path for path in paths if os.path.lexists(path)]
    if existing and not overwrite:
        raise UserErrorException(
            f"{existing[0]} exists already. Pass overwrite=True to replace it, or choose another target_path."
        )
    told = Progress(("Downloading", "Downloaded"), len(entries), sum(max(0, it.file.size) for it in entries), show=show)
    try:
        with sdk_errors():
            cache().copy(entries, folder)
    except OSError as error:
        raise UserErrorException(
            f"{error.filename or folder} cannot be written: {error.strerror}. Choose another target_path.", error
        ) from error
    told(len(entries), 0)
    told.done()
    return paths


def put_run_files(blobs: BlobStore, files: Sequence[RunFile], depot: Depot, folder: str) -> None:
    """Files of a run into a datastore, by their names."""
    with sdk_errors(), tempfile.TemporaryDirectory(prefix="trainyard-files-") as aside:
        for number, file in enumerate(files):
            if file.digest is not None:
                blobs.write_to(file.digest, path := os.path.join(aside, str(number)))
                depot.put(f"{folder}/{file.name}", path)
                os.unlink(path)


def _taken(depot: Depot, targets: Sequence[tuple[str, str]], folder: str) -> set[str]:
    if len(targets) <= 4:
        return {target for _, target in targets if depot.look(target) is not None}
    return {file.path for file in depot.list(folder)}


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError as error:
        raise UserErrorException(f"{path} cannot be read: {error.strerror}. Check the path.", error) from error
