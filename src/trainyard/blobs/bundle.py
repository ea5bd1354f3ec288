"""A tree of files that are in the store already: models, made of a run's files or of files anywhere. Unlike a snapshot
it leaves nothing out. It is read back, checked, as a snapshot is (`materialise`, `read_manifest`)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from trainyard.blobs.base import BlobStore
from trainyard.blobs.trees import FileLine, FolderLine, Tree, encode


@dataclass(frozen=True)
class Bundled:
    path: str  # with '/', relative
    size: int
    digest: str
    executable: bool = False


@dataclass
class _Folder:
    files: list[FileLine] = field(default_factory=list)
    folders: dict[str, _Folder] = field(default_factory=dict)


def bundle(store: BlobStore, files: Iterable[Bundled], placed: Iterable[tuple[str, str]] = ()) -> str:
    """The digest of the tree. `placed` puts whole trees into it, as (path of the folder, digest of the tree)."""
    top = _Folder()
    for file in files:
        *above, name = file.path.split("/")
        _down(top, above).files.append(FileLine(name, file.size, file.digest, int(file.executable)))
    grafts = {path: FolderLine(path, digest, 0, 0) for path, digest in placed}
    manifests: list[bytes] = []
    line = _write("", top, manifests, grafts)
    store.put_all(manifests)
    return line.digest


def bundle_path(store: BlobStore, path: str, children: Iterable[str] = ()) -> str:
    """A file, or a folder under its own last name, stored as it is now. `children`: of a folder only these."""
    path = os.path.abspath(path)
    base = os.path.basename(path)
    if os.path.isfile(path):
        below = {base: path}
    else:
        wanted = [os.path.normpath(child) for child in children]
        below = {
            f"{base}/{relative.replace(os.sep, '/')}": os.path.join(path, relative)
            for relative in _files_below(path)
            if not wanted or any(relative == child or relative.startswith(child + os.sep) for child in wanted)
        }
    blobs = store.put_files(list(below.values()))
    return bundle(
        store,
        (
            Bundled(name, blob.size, blob.digest, os.access(at, os.X_OK))
            for (name, at), blob in zip(below.items(), blobs, strict=True)
        ),
    )


def _down(folder: _Folder, names: list[str]) -> _Folder:
    for name in names:
        folder = folder.folders.setdefault(name, _Folder())
    return folder


def _write(name: str, folder: _Folder, manifests: list[bytes], grafts: dict[str, FolderLine]) -> FolderLine:
    """Innermost first: what a manifest names is stored before it."""
    below = [_write(child, found, manifests, {}) for child, found in sorted(folder.folders.items())]
    tree = Tree(tuple(folder.files), (*below, *grafts.values()), ())
    data = encode(tree)
    manifests.append(data)
    files = len(tree.files) + sum(line.files for line in tree.folders)
    size = sum(line.size for line in tree.files) + sum(line.bytes for line in tree.folders)
    return FolderLine(name, hashlib.sha256(data).hexdigest(), files, size)


def _files_below(folder: str) -> list[str]:
    found = []
    for top, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.relpath(os.path.join(top, name), folder) for name in sorted(names)]
    return [path for path in found if os.path.isfile(os.path.join(folder, path))]
