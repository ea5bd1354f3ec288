"""Snapshots: a source directory as it was at submit, kept by content; and back."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass

from trainyard.blobs.base import Blob, BlobStore
from trainyard.blobs.cache import Cache
from trainyard.blobs.scan import STATS, Folder, Scan, numbers_of, unreadable
from trainyard.blobs.trees import Entry, FileLine, FolderLine, LinkLine, Tree, encode, walk
from trainyard.contract.errors import DigestMismatch, SnapshotRefused

# Where a snapshot begins to look like a mistake: data beside the code. The original refused more than 300 MB; so many
# files take seconds to lay out on a node. Nothing is refused here.
LARGE_BYTES = 300_000_000
MANY_FILES = 20_000

_TRIES = 3
_TICK_NS = 50_000_000  # kernels stamp files with a clock that moves every 1 to 10 ms
_COARSE_TICK_NS = 2_000_000_000  # some file systems keep whole seconds, or pairs of them


@dataclass(frozen=True)
class Snapshot:
    id: str
    files: int
    bytes: int
    largest: tuple[tuple[str, int], ...]  # the largest folders at the top ("." for the files beside them), with bytes
    warnings: tuple[str, ...]


def take(source: str, store: BlobStore, cache_dir: str | None = None, without: Iterable[str] = ()) -> Snapshot:
    """Store what is in `source` now, less what it ignores and the paths `without`. With `cache_dir` only what changed
    since the last time is read."""
    source = _checked(source)
    own = [path for path in (*without, cache_dir, store.root) if path]
    cache = Cache(cache_dir, source)
    scan = Scan(source, cache.load(), frozenset(os.path.realpath(path) for path in own) - {source})
    _find_reused(scan.folders)
    _forget_what_the_store_lost(scan.folders, store)
    _read_new_files(scan.folders, store)
    _make_manifests(scan.folders, store)
    cache.save(scan.folders)
    top = scan.folders[0]
    largest = _largest(top)
    warnings = [*scan.warnings, *_size_warning(top, largest)]
    return Snapshot(top.tree, top.files, top.bytes, largest, tuple(warnings))


def read_manifest(store: BlobStore, snapshot_id: str) -> list[Entry]:
    """Every file and link, ordered by path."""
    entries = []
    for folder, tree in walk(store, snapshot_id):
        entries += [Entry(folder + f.name, _mode(f.executable), f.size, f.digest) for f in tree.files]
        entries += [Entry(folder + link.name, 0o777, 0, "", link.target) for link in tree.links]
    return sorted(entries, key=lambda entry: entry.path)


def materialise(store: BlobStore, snapshot_id: str, folder: str) -> None:
    """Lay a snapshot out in `folder` (made if need be). Links come last: nothing is ever written through one."""
    found = walk(store, snapshot_id)
    os.makedirs(folder, exist_ok=True)
    for relative, _ in found[1:]:
        _make_folder(os.path.join(folder, relative[:-1]))
    store.lay_out(
        [
            (file.digest, f"{folder}/{at}{file.name}", _mode(file.executable))
            for at, tree in found
            for file in tree.files
        ]
    )
    for relative, tree in found:
        for link in tree.links:
            _make_link(link.target, os.path.join(folder, relative, link.name))


def write_zip(store: BlobStore, snapshot_id: str, path: str) -> None:
    """The snapshot as an archive of plain files; a link to a file becomes that file, other links are left out."""
    import shutil
    import zipfile

    entries = {entry.path: entry for entry in read_manifest(store, snapshot_id)}
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in entries.items():
            file: Entry | None = entry
            if entry.link is not None:
                file = entries.get(os.path.normpath(os.path.join(os.path.dirname(name), entry.link)))
            if file is None or file.link is not None:
                continue
            about = zipfile.ZipInfo(os.fsencode(name).decode("utf-8", "replace"))
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = (stat.S_IFREG | file.mode) << 16
            with store.open(file.digest) as content, archive.open(about, "w", force_zip64=True) as into:
                shutil.copyfileobj(content, into, 1 << 20)


def _checked(source: str) -> str:
    real = os.path.realpath(source)
    if os.path.isdir(real):
        return real
    if os.path.exists(real):
        raise SnapshotRefused(f"{source} is a file. Give the directory that holds it as the source directory.")
    raise SnapshotRefused(f"There is no directory {source}. Correct source_directory (it is {real} from here).")


def _find_reused(folders: list[Folder]) -> None:
    for folder in reversed(folders):  # what a folder holds comes after it
        folder.reused = (
            folder.clean
            and folder.known is not None
            and folder.known.folders == len(folder.children)
            and all(child.reused for child in folder.children)
        )


def _forget_what_the_store_lost(folders: list[Folder], store: BlobStore) -> None:
    """Known digests are good only if this store has their content, and it has what its manifests name."""
    asked = {
        folder: folder.known.tree
        for folder in folders
        if folder.known is not None and not (folder.parent is not None and folder.parent.reused)
    }
    lost = store.missing(asked.values())
    if not lost:
        return
    gone: set[Folder] = {folder for folder, tree in asked.items() if tree in lost}
    for folder in folders:
        if folder.parent in gone and folder.parent is not None and folder.parent.reused:
            gone.add(folder)
    for folder in gone:
        folder.unfold()
    absent = store.missing({digest for folder in gone for digest in folder.digests if digest})
    for folder in gone:
        folder.digests = ["" if digest in absent else digest for digest in folder.digests]


def _read_new_files(folders: list[Folder], store: BlobStore) -> None:
    """Store what has no digest yet. A file that changes under us is read again; one that keeps changing is refused."""
    began = time.time_ns()
    new = [(folder, at) for folder in folders for at, digest in enumerate(folder.digests) if not digest]
    todo = new
    for _ in range(_TRIES):
        if not todo:
            break
        paths = [folder.join(folder.file_names[at]) for folder, at in todo]
        try:
            blobs = store.put_files(paths)
            todo = [at for at, path, blob in zip(todo, paths, blobs, strict=True) if not _still_as_seen(at, path, blob)]
        except OSError as error:
            raise unreadable(error, folders[0].path) from error
        except DigestMismatch:
            continue  # a file changed between being named and being sent
    if todo:
        folder, at = todo[0]
        raise SnapshotRefused(
            f"{folder.join(folder.file_names[at])} keeps changing while it is read. "
            "Submit when it is written, or name it in .amlignore."
        )
    for folder, at in new:
        _, changed, *_ = folder.stats_of(at)
        tick = _TICK_NS if changed % 1_000_000_000 else _COARSE_TICK_NS
        if changed > began - tick:  # written to once more within this tick, it would look the same next time
            folder.unsure.append(at)


def _still_as_seen(where: tuple[Folder, int], path: str, blob: Blob) -> bool:
    """Whether the file read is the one seen before; notes its digest if so, else how it looks now."""
    folder, at = where
    seen = os.stat(path)
    now = numbers_of(seen)
    if now == folder.stats_of(at) and blob.size == seen.st_size:
        folder.digests[at] = blob.digest
        return True
    folder.stats[at * STATS : at * STATS + STATS] = now
    return False


def _make_manifests(folders: list[Folder], store: BlobStore) -> None:
    manifests = []
    for folder in reversed(folders):
        if folder.reused and folder.known is not None:
            folder.tree, folder.files, folder.bytes = folder.known.tree, folder.known.files, folder.known.bytes
            continue
        folder.unfold()
        tree = _tree(folder)
        data = encode(tree)
        manifests.append(data)
        folder.tree = hashlib.sha256(data).hexdigest()
        folder.files = len(tree.files) + sum(child.files for child in folder.children)
        folder.bytes = sum(file.size for file in tree.files) + sum(child.bytes for child in folder.children)
    store.put_all(manifests)


def _tree(folder: Folder) -> Tree:
    sizes = folder.stats[2::STATS]
    modes = folder.stats[4::STATS]
    return Tree(
        tuple(
            FileLine(name, size, digest, 1 if mode & stat.S_IXUSR else 0)
            for name, size, digest, mode in zip(folder.file_names, sizes, folder.digests, modes, strict=True)
        ),
        tuple(FolderLine(child.name, child.tree, child.files, child.bytes) for child in folder.children),
        tuple(LinkLine(name, target) for name, target in folder.links),
    )


def _largest(top: Folder) -> tuple[tuple[str, int], ...]:
    below = [(child.name, child.bytes) for child in top.children]
    beside = top.bytes - sum(size for _, size in below)
    return tuple(sorted([*below, (".", beside)], key=lambda item: (-item[1], item[0]))[:3])


def _size_warning(top: Folder, largest: tuple[tuple[str, int], ...]) -> list[str]:
    if top.bytes <= LARGE_BYTES and top.files <= MANY_FILES:
        return []
    named = ", ".join(f"{name} ({size / 1e6:,.0f} MB)" for name, size in largest if size > top.bytes / 100)
    warning = (
        f"The snapshot of {top.path} holds {top.files:,} files, {top.bytes / 1e6:,.0f} MB. Largest: {named}. "
        "Name what the run does not need in .amlignore, and give data as a dataset or datastore path instead."
    )
    return [warning]


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise SnapshotRefused(f"{path} is in the way of a folder. Choose an empty folder.") from None


def _make_link(target: str, path: str) -> None:
    if os.path.islink(path):
        os.unlink(path)
    try:
        os.symlink(target, path)
    except FileExistsError:
        raise SnapshotRefused(f"{path} is in the way of a link. Choose an empty folder.") from None


def _mode(executable: int) -> int:
    return 0o755 if executable else 0o644
