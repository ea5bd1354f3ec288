"""Blobs as files: stored once, whole, private, and checked."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainyard.blobs.files import FileStore
from trainyard.contract.errors import DigestMismatch, InvalidRequest, UnknownBlob

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"  # sha256 of b"hello"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(str(tmp_path / "store"))


def stored(store: FileStore) -> list[str]:
    """What the store's folder holds, without its own temporary one."""
    return sorted(
        os.path.relpath(os.path.join(folder, name), store.root)
        for folder, _, names in os.walk(store.root)
        for name in names
    )


def test_bytes_are_named_by_their_digest(store: FileStore) -> None:
    assert store.put_bytes(b"hello") == HELLO
    assert store.read(HELLO) == b"hello"
    assert stored(store) == [f"{HELLO[:2]}/{HELLO[2:]}"]


def test_equal_content_is_stored_once(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"hello")
    (tmp_path / "two").write_bytes(b"hello")
    assert store.put_file(str(tmp_path / "one")).digest == HELLO
    before = os.stat(os.path.join(store.root, HELLO[:2], HELLO[2:])).st_ino
    assert store.put_file(str(tmp_path / "two")).size == 5
    store.put_bytes(b"hello")
    assert len(stored(store)) == 1
    assert os.stat(os.path.join(store.root, HELLO[:2], HELLO[2:])).st_ino == before


def test_empty_and_large_files(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert store.put_file(str(tmp_path / "empty")).digest == EMPTY
    data = os.urandom(3_000_001)
    (tmp_path / "large").write_bytes(data)
    blob = store.put_file(str(tmp_path / "large"))
    assert (blob.digest, blob.size) == (hashlib.sha256(data).hexdigest(), 3_000_001)
    assert store.read(blob.digest) == data
    store.put_file(str(tmp_path / "large"))
    assert len(stored(store)) == 2
    store.write_to(blob.digest, str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == data


def test_only_the_owner_can_read(store: FileStore) -> None:
    store.put_bytes(b"hello")
    assert os.stat(store.root).st_mode & 0o777 == 0o700
    assert os.stat(os.path.join(store.root, HELLO[:2])).st_mode & 0o777 == 0o700
    assert os.stat(os.path.join(store.root, HELLO[:2], HELLO[2:])).st_mode & 0o777 == 0o600


def test_missing(store: FileStore) -> None:
    store.put_bytes(b"hello")
    assert store.missing([HELLO, EMPTY]) == {EMPTY}
    assert store.missing([]) == set()


@pytest.mark.parametrize(
    "name", ["", "..", "../../../../etc/passwd", HELLO[:-1], HELLO + "0", HELLO.upper(), "g" * 64, HELLO + "\n"]
)
def test_a_name_that_is_no_digest_never_becomes_a_path(store: FileStore, tmp_path: Path, name: str) -> None:
    for call in (
        store.read,
        store.open,
        lambda n: store.missing([n]),
        lambda n: store.write_to(n, str(tmp_path / "x")),
    ):
        with pytest.raises(InvalidRequest):
            call(name)
    assert not (tmp_path / "x").exists()


def test_unknown_content(store: FileStore, tmp_path: Path) -> None:
    for call in (store.read, store.open, lambda d: store.write_to(d, str(tmp_path / "x"))):
        with pytest.raises(UnknownBlob):
            call(HELLO)
    assert list(tmp_path.iterdir()) == []


def test_damage_is_seen_by_every_way_of_reading(store: FileStore, tmp_path: Path) -> None:
    store.put_bytes(b"hello")
    Path(store.root, HELLO[:2], HELLO[2:]).write_bytes(b"hellO")
    with pytest.raises(DigestMismatch):
        store.read(HELLO)
    with pytest.raises(DigestMismatch), store.open(HELLO) as file:
        file.read()
    (tmp_path / "out").write_bytes(b"as it was")
    with pytest.raises(DigestMismatch):
        store.write_to(HELLO, str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == b"as it was"
    with pytest.raises(DigestMismatch):
        store.lay_out([(HELLO, str(tmp_path / "new"), 0o644)])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("way", ["read", "open", "write_to", "lay_out"])
@pytest.mark.parametrize("size", [5, 2_000_000])
def test_what_a_read_found_damaged_is_stored_again_when_offered(
    store: FileStore, tmp_path: Path, way: str, size: int
) -> None:
    (tmp_path / "mine").write_bytes(b"x" * size)
    digest = store.put_file(str(tmp_path / "mine")).digest
    Path(store.path_of(digest)).write_bytes(b"X" + b"x" * (size - 1))
    assert store.missing([digest]) == set()  # nobody has read it
    out = str(tmp_path / "out")
    ways = {
        "read": lambda: store.read(digest),
        "open": lambda: store.open(digest).read(),
        "write_to": lambda: store.write_to(digest, out),
        "lay_out": lambda: store.lay_out([(digest, out, 0o644)]),
    }
    for _ in range(2):
        with pytest.raises(DigestMismatch, match="upload the same file again"):
            ways[way]()
        assert store.missing([digest]) == {digest}
    store.put_aside(digest)
    assert store.missing([digest]) == {digest}
    store.put_file(str(tmp_path / "mine"))
    assert store.missing([digest]) == set()
    assert store.read(digest) == b"x" * size
    assert os.stat(store.path_of(digest)).st_mode & 0o7777 == 0o600


def test_a_blob_cut_short_is_stored_again_when_offered(store: FileStore) -> None:
    store.put_bytes(b"hello")
    os.truncate(os.path.join(store.root, HELLO[:2], HELLO[2:]), 0)
    store.put_bytes(b"hello")
    assert store.read(HELLO) == b"hello"


def test_open_streams(store: FileStore) -> None:
    digest = store.put_bytes(b"ab" * 100_000)
    with store.open(digest) as file:
        assert file.read(3) == b"aba"
        assert len(file.read()) == 199_997


def test_write_to_makes_folders_and_sets_the_mode(store: FileStore, tmp_path: Path) -> None:
    store.put_bytes(b"hello")
    store.write_to(HELLO, str(tmp_path / "a/b/run.sh"), 0o755)
    assert (tmp_path / "a/b/run.sh").read_bytes() == b"hello"
    assert os.stat(tmp_path / "a/b/run.sh").st_mode & 0o777 == 0o755
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["run.sh"]


def test_a_copy_can_be_changed_without_changing_the_blob(store: FileStore, tmp_path: Path) -> None:
    store.put_bytes(b"hello")
    store.write_to(HELLO, str(tmp_path / "mine"))
    with open(tmp_path / "mine", "r+b") as file:
        file.write(b"HELLO")
    assert store.read(HELLO) == b"hello"


def test_a_pipe_is_refused_at_once(store: FileStore, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        store.put_file(str(tmp_path / "pipe"))


def test_many_processes_store_the_same_files_at_once(store: FileStore, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}").write_bytes(b"x" * number)
    program = (
        "import sys; from trainyard.blobs.files import FileStore; s = FileStore(sys.argv[1]);"
        "sys.stdin.read(1); s.put_files(sys.argv[2:])"
    )
    names = [str(tmp_path / f"{number}") for number in range(40)]
    writers = [
        subprocess.Popen([sys.executable, "-c", program, store.root, *names], stdin=subprocess.PIPE) for _ in range(3)
    ]
    for writer in writers:
        writer.communicate(b"go")
        assert writer.returncode == 0
    assert len(stored(store)) == 40
    for number in range(40):
        assert store.read(hashlib.sha256(b"x" * number).hexdigest()) == b"x" * number


FULL_DISK = """
import resource, signal, sys
from trainyard.blobs.files import FileStore
from trainyard.contract.errors import DiskFull
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
store = FileStore(sys.argv[1])
for put in (lambda: store.put_bytes(b"y" * 5000), lambda: store.put_file(sys.argv[2])):
    try:
        put()
    except DiskFull as error:
        print(error.code)
store.put_bytes(b"hello")
"""


def test_a_disk_that_fills_up_leaves_nothing_behind(store: FileStore, tmp_path: Path) -> None:
    """A limit on file sizes stands in for the end of the disk; it is reported the same way."""
    (tmp_path / "large").write_bytes(b"z" * 2_000_000)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, store.root, str(tmp_path / "large")], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("disk.full\ndisk.full\n", "")
    assert stored(store) == [f"{HELLO[:2]}/{HELLO[2:]}"]


def test_sweep_removes_what_killed_writers_left(store: FileStore) -> None:
    store.put_bytes(b"hello")
    left = Path(store.root, "tmp", ".left.new")
    left.write_bytes(b"half")
    assert store.sweep() == 0
    os.utime(left, (1, 1))
    assert store.sweep() == 1
    assert stored(store) == [f"{HELLO[:2]}/{HELLO[2:]}"]
