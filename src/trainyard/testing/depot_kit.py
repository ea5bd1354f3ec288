"""What every depot must do: subclass DepotKit, give it a `depot` that is empty, and it is tested."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainyard.blobs.depots.base import Depot
from trainyard.contract.errors import DataChanged, DataRefused, NoSuchData

LARGE = 9 << 20  # more than stores take in one piece


class DepotKit:
    @pytest.fixture
    def depot(self) -> Depot:
        raise NotImplementedError("a kit needs a depot")

    @pytest.fixture
    def put(self, depot: Depot, tmp_path: Path) -> object:
        """put(path, content): a file of the depot."""

        def put(path: str, content: bytes) -> None:
            (tmp_path / "to-put").write_bytes(content)
            depot.put(path, str(tmp_path / "to-put"))

        return put

    def test_it_can_be_used(self, depot: Depot) -> None:
        depot.check()

    def test_what_is_put_is_listed_and_read(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        put("a/one.txt", b"one")
        put("a/b/two words.txt", b"two")
        put("ab.txt", b"")
        assert [(file.path, file.size) for file in depot.list("")] == [
            ("a/b/two words.txt", 3),
            ("a/one.txt", 3),
            ("ab.txt", 0),
        ]
        assert b"".join(depot.read("a/b/two words.txt")) == b"two"
        assert b"".join(depot.read("ab.txt")) == b""

    def test_a_file_is_of_one_version_however_it_is_found(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        put("a/one.txt", b"one")
        (listed,) = depot.list("a")
        assert listed == depot.look("a/one.txt")
        assert b"".join(depot.read("a/one.txt", version=listed.version)) == b"one"

    def test_a_folder_is_not_what_begins_like_it(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        for path in ("data/1", "data2/1", "data.txt"):
            put(path, b"x")
        assert [file.path for file in depot.list("data")] == ["data/1"]
        assert list(depot.list("nothing")) == []

    def test_what_is_not_there(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        put("folder/file", b"x")
        assert depot.look("nothing") is None
        assert depot.look("folder") is None
        with pytest.raises(NoSuchData, match="nothing"):
            list(depot.read("nothing"))

    def test_reading_goes_on_from_an_offset(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        put("file", b"0123456789")
        assert b"".join(depot.read("file", 7)) == b"789"

    def test_a_large_file(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        content = os.urandom(1 << 20) * (LARGE >> 20) + b"end"
        put("large", content)
        seen = depot.look("large")
        assert seen is not None
        assert seen.size == len(content)
        assert b"".join(depot.read("large", version=seen.version)) == content

    def test_a_new_content_is_a_new_version(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        put("file", b"before")
        before = depot.look("file")
        put("file", b"after!")
        after = depot.look("file")
        assert before is not None
        assert after is not None
        assert before.version != after.version
        assert b"".join(depot.read("file", version=after.version)) == b"after!"
        with pytest.raises(DataChanged, match="changed"):
            list(depot.read("file", version=before.version))

    def test_a_file_is_removed_once(self, depot: Depot, put) -> None:  # type: ignore[no-untyped-def]
        put("file", b"x")
        depot.delete("file")
        depot.delete("file")
        assert depot.look("file") is None

    @pytest.mark.parametrize("path", ["../out", "a/../../out", "a\n"])
    def test_paths_stay_inside(self, put, path: str) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(DataRefused, match="cannot be a path"):
            put(path, b"x")
