"""Trees of files that are in the store: what goes in comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.blobs.bundle import Bundled, bundle, bundle_path
from trainyard.blobs.files import FileStore
from trainyard.blobs.snapshot import materialise, read_manifest
from trainyard.contract.errors import DigestMismatch, SnapshotRefused


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(str(tmp_path / "store"))


def test_a_folder_keeps_its_name_and_leaves_nothing_out(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "net" / "deep").mkdir(parents=True)
    (tmp_path / "net" / ".amlignore").write_text("*")
    (tmp_path / "net" / "deep" / "weights").write_bytes(b"\x00")
    digest = bundle_path(store, str(tmp_path / "net"))
    assert [entry.path for entry in read_manifest(store, digest)] == ["net/.amlignore", "net/deep/weights"]
    materialise(store, digest, str(tmp_path / "out"))
    assert (tmp_path / "out" / "net" / "deep" / "weights").read_bytes() == b"\x00"
    assert bundle_path(store, str(tmp_path / "net")) == digest


def test_only_the_children_that_were_asked_for(store: FileStore, tmp_path: Path) -> None:
    for name in ("a/x", "a/y", "b/x"):
        (tmp_path / "net" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "net" / name).write_text(name)
    digest = bundle_path(store, str(tmp_path / "net"), ["a", "b/x"])
    assert [entry.path for entry in read_manifest(store, digest)] == ["net/a/x", "net/a/y", "net/b/x"]


def test_a_tree_is_placed_in_another(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text("pass")
    inner = bundle_path(store, str(tmp_path / "score.py"))
    assert [entry.path for entry in read_manifest(store, bundle(store, [], [("source", inner)]))] == ["source/score.py"]


def test_names_that_climb_out_are_refused_when_they_are_read(store: FileStore, tmp_path: Path) -> None:
    digest = bundle(store, [Bundled("../up", 1, store.put_bytes(b"x"))])
    with pytest.raises(SnapshotRefused, match="not a snapshot"):
        materialise(store, digest, str(tmp_path / "out"))


def test_a_damaged_file_is_told(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"good")
    digest = bundle_path(store, str(tmp_path / "model"))
    [entry] = read_manifest(store, digest)
    (Path(store.root) / entry.digest[:2] / entry.digest[2:]).write_bytes(b"evil")
    with pytest.raises(DigestMismatch):
        materialise(store, digest, str(tmp_path / "out"))
