"""Snapshots: what is taken, what is not, and that a second look misses nothing."""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from trainyard.blobs import snapshot
from trainyard.blobs.files import FileStore
from trainyard.blobs.snapshot import materialise, read_manifest, take, write_zip
from trainyard.contract.errors import SnapshotRefused, UnknownBlob


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(str(tmp_path / "store"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


def paths(store: FileStore, taken: snapshot.Snapshot) -> list[str]:
    return [entry.path for entry in read_manifest(store, taken.id)]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_there_and_back(store: FileStore, source: Path, tmp_path: Path) -> None:
    write(source, {"train.py": "print(1)", "pkg/a.py": "a", "pkg/deep/b.py": "b", "run.sh": "#!/bin/sh\n"})
    (source / "run.sh").chmod(0o700)
    (source / "train.py").chmod(0o600)
    (source / "empty").mkdir()
    taken = take(str(source), store)
    assert (taken.files, taken.bytes, taken.warnings) == (4, 20, ())
    assert taken.largest == ((".", 18), ("pkg", 2), ("empty", 0))
    materialise(store, taken.id, str(tmp_path / "out"))
    assert content(tmp_path / "out") == content(source)
    assert (tmp_path / "out/run.sh").stat().st_mode & 0o100
    assert not (tmp_path / "out/train.py").stat().st_mode & 0o100
    assert (tmp_path / "out/empty").is_dir()


def test_the_id_is_the_content_s(store: FileStore, source: Path, tmp_path: Path) -> None:
    write(source, {"b.py": "b", "a.py": "a"})
    other = tmp_path / "other"
    write(other, {"a.py": "a", "b.py": "b"})
    assert take(str(source), store).id == take(str(other), store).id
    (other / "b.py").chmod(0o755)
    assert take(str(source), store).id != take(str(other), store).id


def test_the_manifest_s_form(store: FileStore, source: Path) -> None:
    write(source, {"a.py": "hello"})
    taken = take(str(source), store)
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    expected = f'{{"trainyard-snapshot":1,"files":[["a.py",5,"{digest}",0]],"folders":[],"links":[]}}'
    assert store.read(taken.id).decode() == expected
    assert taken.id == hashlib.sha256(expected.encode()).hexdigest()


def test_names_in_any_script_and_bytes_that_are_no_text(store: FileStore, source: Path, tmp_path: Path) -> None:
    write(source, {"数据 files/naïve \n.py": "1", "a\\b'\".py": "2"})
    raw = os.path.join(os.fsencode(source), b"\xff\xfe.bin")
    with open(raw, "wb") as file:
        file.write(b"3")
    taken = take(str(source), store, str(tmp_path / "cache"))
    assert take(str(source), store, str(tmp_path / "cache")).id == taken.id
    materialise(store, taken.id, str(tmp_path / "out"))
    assert content(tmp_path / "out") == content(source)
    write_zip(store, taken.id, str(tmp_path / "all.zip"))
    assert len(zipfile.ZipFile(tmp_path / "all.zip").namelist()) == 3


def test_a_thousand_levels(store: FileStore, source: Path, tmp_path: Path) -> None:
    deep = str(source)
    for _ in range(1200):
        deep += "/d"
        os.mkdir(deep)
    Path(deep, "f").write_text("down here")
    taken = take(str(source), store)
    assert taken.files == 1
    materialise(store, taken.id, str(tmp_path / "out"))
    assert (tmp_path / "out").joinpath(*["d"] * 1200, "f").read_text() == "down here"
    subprocess.run(["rm", "-r", str(source), str(tmp_path / "out")], check=True)  # too deep for pytest's own cleaning


# What a second look must see.


def test_every_kind_of_change_is_seen(store: FileStore, source: Path, cache: str) -> None:
    write(source, {"a.py": "1", "pkg/b.py": "22", "pkg/c.py": "3"})

    def look() -> dict[str, str]:
        taken = take(str(source), store, cache)
        assert taken.id == take(str(source), store).id  # a look without a cache
        return {entry.path: store.read(entry.digest).decode() for entry in read_manifest(store, taken.id)}

    assert look() == {"a.py": "1", "pkg/b.py": "22", "pkg/c.py": "3"}
    (source / "pkg/b.py").write_text("XX")  # same size
    assert look() == {"a.py": "1", "pkg/b.py": "XX", "pkg/c.py": "3"}
    (source / "pkg/new.py").write_text("n")
    assert look() == {"a.py": "1", "pkg/b.py": "XX", "pkg/c.py": "3", "pkg/new.py": "n"}
    (source / "a.py").unlink()
    assert look() == {"pkg/b.py": "XX", "pkg/c.py": "3", "pkg/new.py": "n"}
    (source / "pkg/c.py").rename(source / "pkg/d.py")
    assert look() == {"pkg/b.py": "XX", "pkg/d.py": "3", "pkg/new.py": "n"}
    os.replace(source / "pkg/d.py", source / "pkg/b.py")
    assert look() == {"pkg/b.py": "3", "pkg/new.py": "n"}
    (source / "pkg/new.py").unlink()
    (source / "pkg/new.py").mkdir()
    (source / "pkg/new.py/x").write_text("in a folder now")
    assert look() == {"pkg/b.py": "3", "pkg/new.py/x": "in a folder now"}
    (source / ".gitignore").write_text("b.py\n")
    assert look() == {".gitignore": "b.py\n", "pkg/new.py/x": "in a folder now"}


def test_a_file_rewritten_at_once_with_its_time_put_back_is_seen(store: FileStore, source: Path, cache: str) -> None:
    """Right after a look nobody can tell by the clock alone: such files are read again."""
    write(source, {"a.py": "1"})
    for text in "23456789":
        before = os.stat(source / "a.py")
        take(str(source), store, cache)
        with open(source / "a.py", "r+") as file:
            file.write(text)
        os.utime(source / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
        entry = read_manifest(store, take(str(source), store, cache).id)[0]
        assert store.read(entry.digest).decode() == text


def test_the_executable_bit_alone_is_a_change(store: FileStore, source: Path, cache: str) -> None:
    write(source, {"run.sh": "1"})
    first = take(str(source), store, cache)
    (source / "run.sh").chmod(0o755)
    assert read_manifest(store, take(str(source), store, cache).id)[0].mode == 0o755
    assert take(str(source), store, cache).id != first.id


def test_an_unchanged_folder_is_not_read_again(store: FileStore, source: Path, cache: str, tmp_path: Path) -> None:
    """Seen through the store: content that was removed from it behind its manifest's back stays away."""
    write(source, {"a.py": "1", "b.py": "2"})
    for path in source.iterdir():
        os.utime(path, (1, 1))
    taken = take(str(source), store, cache)
    entry = read_manifest(store, taken.id)[0]
    blob = Path(store.root, entry.digest[:2], entry.digest[2:])
    # the first look may have come too soon after the files were made to be sure of them
    while not _sure(cache):
        take(str(source), store, cache)
    blob.unlink()
    assert take(str(source), store, cache).id == taken.id
    assert not blob.exists()


def _sure(cache: str) -> bool:
    (file,) = Path(cache).iterdir()
    folders = json.loads(file.read_bytes().partition(b"\n")[2])[2]
    return "AAAAAAAAAAAAAAAAAAAAAAAA" not in folders[""][3]


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"00000000\n[1]", None])
def test_a_damaged_cache_is_as_good_as_none(
    store: FileStore, source: Path, cache: str, damage: bytes | None, tmp_path: Path
) -> None:
    write(source, {"a.py": "1", "pkg/b.py": "2"})
    taken = take(str(source), store, cache)
    (file,) = Path(cache).iterdir()
    body = bytearray(file.read_bytes())
    if damage is None:
        body[random.Random(7).randrange(20, len(body))] ^= 1
    file.write_bytes(bytes(body) if damage is None else damage)
    assert take(str(source), store, cache).id == taken.id


def test_a_cache_that_cannot_be_written_does_not_matter(store: FileStore, source: Path, tmp_path: Path) -> None:
    write(source, {"a.py": "1"})
    (tmp_path / "file").write_text("")
    assert take(str(source), store, str(tmp_path / "file")).files == 1


def test_our_own_folders_are_not_taken(store: FileStore, source: Path) -> None:
    write(source, {"a.py": "1", "home/token": "secret"})
    inside = FileStore(str(source / "blobs"))
    taken = take(str(source), inside, str(source / "cache"), without=[str(source / "home")])
    again = take(str(source), inside, str(source / "cache"), without=[str(source / "home")])
    assert taken.id == again.id
    assert paths(inside, taken) == ["a.py"]


# Links and other strange files.


def test_links(store: FileStore, source: Path, tmp_path: Path) -> None:
    write(source, {"data/one.csv": "1", "pkg/a.py": "a"})
    write(tmp_path, {"elsewhere/shared.csv": "shared"})
    (source / "latest").symlink_to("data/one.csv")
    (source / "absolute").symlink_to(source / "pkg")
    (source / "pkg/up").symlink_to("../data")
    (source / "chain").symlink_to("latest")
    (source / "outside.csv").symlink_to(tmp_path / "elsewhere/shared.csv")
    (source / "outside").symlink_to(tmp_path / "elsewhere")
    (source / "nowhere").symlink_to("/no/such/file")
    (source / "loop").symlink_to("loop")
    taken = take(str(source), store, str(tmp_path / "cache"))
    links = {entry.path: entry.link for entry in read_manifest(store, taken.id) if entry.link is not None}
    loop = links.pop("loop")
    assert loop == "loop"
    assert links == {"latest": "data/one.csv", "absolute": "pkg", "pkg/up": "../data", "chain": "data/one.csv"}
    assert sorted(warning.split()[0] for warning in taken.warnings) == ["nowhere", "outside"]
    out = tmp_path / "out"
    materialise(store, taken.id, str(out))
    materialise(store, taken.id, str(out))  # a second time over the first
    assert (out / "latest").read_text() == "1"
    assert (out / "pkg/up/one.csv").read_text() == "1"
    assert (out / "absolute/a.py").read_text() == "a"
    assert (out / "outside.csv").read_text() == "shared"
    assert not (out / "outside.csv").is_symlink()
    assert not os.path.lexists(out / "outside")
    (source / "latest").unlink()
    (source / "latest").symlink_to("pkg/a.py")
    (tmp_path / "elsewhere/shared.csv").write_text("changed")
    again = take(str(source), store, str(tmp_path / "cache"))
    materialise(store, again.id, str(tmp_path / "out2"))
    assert (tmp_path / "out2/latest").read_text() == "a"
    assert (tmp_path / "out2/outside.csv").read_text() == "changed"


def test_pipes_and_sockets_are_left_out_with_a_word(store: FileStore, source: Path, cache: str) -> None:
    write(source, {"a.py": "1"})
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(source / "socket"))
        for _ in range(2):
            taken = take(str(source), store, cache)
            assert paths(store, taken) == ["a.py"]
            assert sorted(warning.split()[0] for warning in taken.warnings) == ["pipe", "socket"]


def hostile(store: FileStore, **lines: list[list[object]]) -> str:
    body = {"trainyard-snapshot": 1, "files": [], "folders": [], "links": [], **lines}
    return store.put_bytes(json.dumps(body).encode())


def test_a_manifest_from_elsewhere_cannot_climb_out(store: FileStore, tmp_path: Path) -> None:
    blob = store.put_bytes(b"evil")
    inner = hostile(store, links=[["up", "../../x"]])
    for manifest in (
        hostile(store, files=[["../evil", 4, blob, 0]]),
        hostile(store, files=[["/etc/evil", 4, blob, 0]]),
        hostile(store, files=[["", 4, blob, 0]]),
        hostile(store, files=[["a\0b", 4, blob, 0]]),
        hostile(store, files=[["a", 4, "../../token", 0]]),
        hostile(store, files=[["a", 4, blob, 0], ["a", 4, blob, 0]]),
        hostile(store, files=[["a", 4, blob, 0]], links=[["a", "b"]]),
        hostile(store, links=[["a", "/etc"]]),
        hostile(store, links=[["a", ".."]]),
        hostile(store, links=[["a", "b/../.."]]),
        hostile(store, links=[["a", "b/.."]]),
        hostile(store, folders=[["..", inner, 0, 0]]),
        hostile(store, folders=[["sub", inner, 0, 0]]),
        store.put_bytes(b"not json"),
        store.put_bytes(b"[]"),
        store.put_bytes(b'{"trainyard-snapshot": 2}'),
    ):
        with pytest.raises(SnapshotRefused):
            materialise(store, manifest, str(tmp_path / "out" / "here"))
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_through_a_link_that_is_in_the_way(store: FileStore, source: Path, tmp_path: Path) -> None:
    write(source, {"pkg/a.py": "a"})
    taken = take(str(source), store)
    victim = tmp_path / "victim"
    victim.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / "pkg").symlink_to(victim)
    with pytest.raises(SnapshotRefused, match="in the way"):
        materialise(store, taken.id, str(out))
    assert list(victim.iterdir()) == []


def test_unknown_snapshot(store: FileStore, tmp_path: Path) -> None:
    with pytest.raises(UnknownBlob):
        materialise(store, "0" * 64, str(tmp_path / "out"))


# Sources that cannot be taken.


def test_a_missing_directory_and_a_file(store: FileStore, source: Path) -> None:
    with pytest.raises(SnapshotRefused, match=r"There is no directory .*/nowhere. Correct source_directory"):
        take(str(source / "nowhere"), store)
    write(source, {"train.py": "1"})
    with pytest.raises(SnapshotRefused, match=r"train\.py is a file\. Give the directory"):
        take(str(source / "train.py"), store)


TAKE = """
import os, sys
from trainyard.blobs.files import FileStore
from trainyard.blobs.snapshot import take
from trainyard.contract.errors import SnapshotRefused
if os.getuid() == 0:
    os.seteuid(65534)  # nothing is locked for root
try:
    take(sys.argv[1], FileStore(sys.argv[2]))
except SnapshotRefused as error:
    print(error)
"""


@pytest.mark.parametrize("locked", ["secret.txt", "secret"])
def test_what_cannot_be_read_is_named(tmp_path: Path, source: Path, locked: str) -> None:
    write(source, {"a.py": "1", locked if locked.endswith("txt") else f"{locked}/x": "2"})
    (source / locked).chmod(0)
    if os.getuid() == 0:  # the process below will be somebody else: let it come this far
        for folder in tmp_path.parents:
            if folder.stat().st_mode & 0o011 != 0o011:  # pytest's own
                folder.chmod(0o711)
        tmp_path.chmod(0o777)
    argv = [sys.executable, "-c", TAKE, str(source), str(tmp_path / "other")]
    done = subprocess.run(argv, capture_output=True, text=True)
    (source / locked).chmod(0o755)
    assert done.stderr == ""
    assert f"Cannot take {source / locked} into the snapshot: Permission denied." in done.stdout


def test_a_file_that_vanishes_or_keeps_changing(source: Path, tmp_path: Path) -> None:
    class Busy(FileStore):
        """A disk on which somebody else is at work: `meanwhile` happens whenever files were read."""

        def put_files(self, paths):  # type: ignore[no-untyped-def]
            blobs = super().put_files(paths)
            self.meanwhile()
            return blobs

    write(source, {"a.py": "1"})
    store = Busy(str(tmp_path / "busy"))
    store.meanwhile = (source / "a.py").unlink  # type: ignore[attr-defined]
    with pytest.raises(SnapshotRefused, match=r"Cannot take .*/a\.py into the snapshot: No such file"):
        take(str(source), store)

    def grow() -> None:
        with open(source / "a.py", "a") as file:
            file.write("more")

    write(source, {"a.py": "1"})
    store.meanwhile = grow  # type: ignore[attr-defined]
    with pytest.raises(SnapshotRefused, match=r"a\.py keeps changing while it is read"):
        take(str(source), store)

    once = iter([grow])
    write(source, {"a.py": "1"})
    store.meanwhile = lambda: next(once, lambda: None)()  # type: ignore[attr-defined]
    taken = take(str(source), store)
    assert store.read(read_manifest(store, taken.id)[0].digest) == b"1more"


# Large ones.


def test_a_large_snapshot_is_taken_and_its_largest_folders_are_named(store: FileStore, source: Path) -> None:
    write(source, {"train.py": "1", "small/a": "a"})
    (source / "data").mkdir()
    for name in ("one", "two"):
        with open(source / "data" / name, "wb") as file:
            file.truncate(151_000_000)  # holes: no disk is used by these
    taken = take(str(source), store)
    assert taken.bytes == 302_000_002
    assert taken.largest == (("data", 302_000_000), (".", 1), ("small", 1))
    (warning,) = taken.warnings
    assert "holds 4 files, 302 MB. Largest: data (302 MB)" in warning
    assert ".amlignore" in warning


def test_zip(store: FileStore, source: Path, tmp_path: Path) -> None:
    write(source, {"train.py": "print(1)", "pkg/a.py": "a"})
    (source / "train.py").chmod(0o755)
    (source / "main.py").symlink_to("train.py")
    (source / "folder").symlink_to("pkg")
    taken = take(str(source), store)
    write_zip(store, taken.id, str(tmp_path / "out/code.zip"))
    with zipfile.ZipFile(tmp_path / "out/code.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "main.py": b"print(1)",
            "pkg/a.py": b"a",
            "train.py": b"print(1)",
        }
        assert archive.getinfo("train.py").external_attr >> 16 == 0o100755
