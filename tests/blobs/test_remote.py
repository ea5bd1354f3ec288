"""The same port over a wire: here a stand-in for the service's client that keeps its blobs in a dictionary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import pytest

from trainyard.blobs import snapshot
from trainyard.blobs.remote import RemoteStore
from trainyard.contract.errors import DigestMismatch, InvalidRequest, UnknownBlob


class Service:
    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.questions = 0
        self.sent = 0

    def missing(self, digests: Iterable[str]) -> list[str]:
        self.questions += 1
        return [digest for digest in digests if digest not in self.held]

    def put(self, digest: str, data: bytes | IO[bytes]) -> None:
        content = data if isinstance(data, bytes) else data.read()
        if (found := hashlib.sha256(content).hexdigest()) != digest:
            raise DigestMismatch(digest, found)
        self.sent += 1
        self.held[digest] = content

    def read(self, digest: str) -> bytes:
        if digest not in self.held:
            raise UnknownBlob(digest)
        return self.held[digest]

    def fetch(self, digest: str, into: IO[bytes]) -> None:
        into.write(self.read(digest))


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def store(service: Service) -> RemoteStore:
    return RemoteStore(service)


def test_only_new_content_travels(store: RemoteStore, service: Service, tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "two"), ("c", "one")):
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in "abc"]
    blobs = store.put_files(paths)
    assert [blob.digest for blob in blobs] == [hashlib.sha256(text).hexdigest() for text in (b"one", b"two", b"one")]
    assert (service.sent, service.questions) == (2, 1)
    store.put_files(paths)
    store.put_bytes(b"two")
    assert service.sent == 2


def test_content_comes_back(store: RemoteStore, tmp_path: Path) -> None:
    digest = store.put_bytes(b"bytes")
    store.write_to(digest, str(tmp_path / "x/y"), 0o755)
    assert (tmp_path / "x/y").read_bytes() == b"bytes"
    assert (tmp_path / "x/y").stat().st_mode & 0o777 == 0o755
    with store.open(digest) as file:
        assert file.read() == b"bytes"


def test_unknown_content_leaves_no_file(store: RemoteStore, tmp_path: Path) -> None:
    with pytest.raises(UnknownBlob):
        store.write_to("0" * 64, str(tmp_path / "x"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidRequest):
        store.read("../token")


def test_a_snapshot_travels_and_comes_back(store: RemoteStore, service: Service, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "pkg").mkdir(parents=True)
    (source / "train.py").write_text("print(1)")
    (source / "pkg" / "a.py").write_text("a = 1")
    cache = str(tmp_path / "cache")
    first = snapshot.take(str(source), store, cache)
    assert service.sent == 4  # two files, two manifests
    (source / "train.py").write_text("print(2)")
    second = snapshot.take(str(source), store, cache)
    assert service.sent == 6  # one file, the top's manifest
    assert first.id != second.id
    snapshot.materialise(store, second.id, str(tmp_path / "out"))
    assert (tmp_path / "out/train.py").read_text() == "print(2)"
    assert (tmp_path / "out/pkg/a.py").read_text() == "a = 1"


def test_a_cache_made_for_another_store_is_not_trusted(store: RemoteStore, service: Service, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "pkg").mkdir(parents=True)
    (source / "train.py").write_text("print(1)")
    (source / "pkg" / "a.py").write_text("a = 1")
    cache = str(tmp_path / "cache")
    taken = snapshot.take(str(source), store, cache)
    service.held.clear()
    assert snapshot.take(str(source), store, cache).id == taken.id
    snapshot.materialise(store, taken.id, str(tmp_path / "out"))
    assert (tmp_path / "out/pkg/a.py").read_text() == "a = 1"
    service.held.clear()
    (source / "train.py").write_text("print(2)")
    changed = snapshot.take(str(source), store, cache)
    snapshot.materialise(store, changed.id, str(tmp_path / "out2"))
    assert (tmp_path / "out2/pkg/a.py").read_text() == "a = 1"
