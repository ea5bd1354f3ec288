"""The manifest of a folder: a small JSON blob that names its files, links and folders; a folder by its own manifest.

A snapshot's id is the digest of its topmost manifest, so an unchanged folder is never written or sent again. Manifests
come from elsewhere too: what they say is checked before any of it becomes a path.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import NamedTuple

from trainyard.blobs.base import BlobStore, check_digest
from trainyard.contract.errors import InvalidRequest, SnapshotRefused

_FORM = 1
_MARK = "trainyard-snapshot"
_MOST_FOLDERS = 1_000_000  # a few small manifests can name each other's folders without end; disks end before this


@dataclass(frozen=True)
class Entry:
    """One file or link of a snapshot. `link` is where a link points, relative to its own folder."""

    path: str
    mode: int
    size: int
    digest: str
    link: str | None = None


class FileLine(NamedTuple):
    name: str
    size: int
    digest: str
    executable: int  # 0 or 1


class FolderLine(NamedTuple):
    name: str
    digest: str
    files: int  # in it and below
    bytes: int


class LinkLine(NamedTuple):
    name: str
    target: str


@dataclass(frozen=True)
class Tree:
    """One folder's manifest."""

    files: tuple[FileLine, ...]
    folders: tuple[FolderLine, ...]
    links: tuple[LinkLine, ...]


def encode(tree: Tree) -> bytes:
    """The same bytes for the same folder, in whatever order a disk gave its names."""
    body = {
        _MARK: _FORM,
        "files": sorted(tree.files),
        "folders": sorted(tree.folders),
        "links": sorted(tree.links),
    }
    return json.dumps(body, separators=(",", ":")).encode("ascii")


def decode(data: bytes, depth: int) -> Tree:
    """A manifest `depth` folders below the top, every name in it checked."""
    try:
        body = json.loads(data)
        if body[_MARK] != _FORM:
            raise ValueError(f"form {body[_MARK]}")
        tree = Tree(
            tuple(
                FileLine(_name(n), int(size), check_digest(digest), int(bool(x)))
                for n, size, digest, x in body["files"]
            ),
            tuple(FolderLine(_name(n), check_digest(digest), int(f), int(b)) for n, digest, f, b in body["folders"]),
            tuple(LinkLine(_name(n), _target(target, depth)) for n, target in body["links"]),
        )
        _no_name_twice(tree)
    except (ValueError, KeyError, TypeError, InvalidRequest) as error:
        raise SnapshotRefused(f"That is not a snapshot ({error}). Submit the run again to make one.") from error
    return tree


def walk(store: BlobStore, snapshot_id: str) -> list[tuple[str, Tree]]:
    """Every folder of a snapshot with its path ("" for the top), each after the one that holds it."""
    found: list[tuple[str, Tree]] = []
    waiting = [("", snapshot_id, 0)]
    read: dict[tuple[str, int], Tree] = {}
    while waiting:
        path, digest, depth = waiting.pop()
        tree = read.get((digest, depth))
        if tree is None:
            tree = read[digest, depth] = decode(store.read(digest), depth)
        found.append((path, tree))
        if len(found) > _MOST_FOLDERS:
            raise SnapshotRefused(f"Snapshot {snapshot_id[:16]}… has over a million folders. Submit the run again.")
        waiting += [(f"{path}{folder.name}/", folder.digest, depth + 1) for folder in tree.folders]
    return found


def stays_inside(target: str, depth: int) -> bool:
    """Whether a link `depth` folders below the top, pointing at `target`, ends below the top. Only leading `..` are
    allowed: they climb real folders, while one behind a name could climb out of where another link leads."""
    parts = target.split("/")
    climbs = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    below = parts[climbs:]
    return climbs <= depth and (below == ["."] or all(part not in ("", ".", "..") for part in below))


def _name(name: str) -> str:
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot be a name")
    os.fsencode(name)  # what this system cannot write is a ValueError here
    return name


def _target(target: str, depth: int) -> str:
    if not isinstance(target, str) or "\0" in target or not stays_inside(target, depth):
        raise ValueError(f"a link to {target!r}")
    os.fsencode(target)
    return target


def _no_name_twice(tree: Tree) -> None:
    names = [line.name for lines in (tree.files, tree.folders, tree.links) for line in lines]
    if len(set(names)) != len(names):
        raise ValueError("a name that stands for two things")
