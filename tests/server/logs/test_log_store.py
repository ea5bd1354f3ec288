"""Logs in real files."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from trainyard.contract.errors import InvalidName
from trainyard.server.logs.service import LogStore

DRIVER = "azureml-logs/70_driver_log.txt"


def test_bytes_sent_twice_or_overlapping_are_there_once(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    assert store.append(1, 1, DRIVER, 0, b"hello ") == 6
    assert store.append(1, 1, DRIVER, 0, b"hello ") == 6
    assert store.append(1, 1, DRIVER, 3, b"lo world") == 11
    assert store.append(1, 1, DRIVER, 20, b"gap") == 11
    assert store.append(1, 1, DRIVER, 11, b"") == 11
    assert store.read(1, DRIVER, 0, 100) == b"hello world"
    assert store.read(1, DRIVER, 6, 3) == b"wor"
    assert store.read(1, DRIVER, 11, 10) == b""
    assert store.listing(1) == [(DRIVER, 11)]
    assert store.acked(1, 1, DRIVER) == 11


def test_a_later_attempt_goes_on_behind_the_earlier_one(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    store.append(1, 1, DRIVER, 0, b"first\n")
    assert store.append(1, 2, DRIVER, 0, b"second\n") == 7
    assert store.append(1, 1, DRIVER, 6, b"too late") == 6
    assert store.append(1, 2, DRIVER, 7, b"more\n") == 12
    assert store.read(1, DRIVER, 0, 100) == b"first\nsecond\nmore\n"
    assert store.append(1, 1, "other", 0, b"x") == 1
    assert store.append(1, 3, "third", 0, b"x") == 1
    assert store.append(1, 2, "third", 0, b"late and never begun") == 0
    assert [store.acked(1, attempt, DRIVER) for attempt in (1, 2, 3)] == [6, 12, 0]


def test_a_new_store_knows_what_the_old_one_had(tmp_path: Path) -> None:
    old = LogStore(str(tmp_path))
    old.append(1, 1, DRIVER, 0, b"abc")
    old.append(1, 2, DRIVER, 0, b"de")
    with open(tmp_path / "1" / "index", "ab") as index:
        index.write(b'[2, 1, 0, "torn')  # killed while it wrote the line
    new = LogStore(str(tmp_path))
    assert new.append(1, 2, DRIVER, 0, b"def") == 3
    assert new.append(1, 1, "next", 0, b"n") == 1
    assert LogStore(str(tmp_path)).listing(1) == [(DRIVER, 6), ("next", 1)]


def test_names_never_become_paths(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    store.append(1, 1, "./logs//späße/ü.txt", 0, b"x")
    assert store.listing(1) == [("logs/späße/ü.txt", 1)]
    assert store.read(1, "logs/späße/ü.txt", 0, 9) == b"x"
    assert sorted(os.listdir(tmp_path / "1")) == ["1", "index"]
    for bad in ("../../escape", "", "a\0b"):
        with pytest.raises(InvalidName):
            store.append(1, 1, bad, 0, b"x")


def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    store = LogStore(str(tmp_path))
    assert store.listing(5) == []
    assert store.find(5, DRIVER) is None
    assert store.read(5, DRIVER, 0, 10) == b""
    assert not (tmp_path / "5").exists()
    assert store.append(5, 1, DRIVER, 0, b"") == 0
    assert store.listing(5) == [(DRIVER, 0)]
    store.forget(5)
    assert store.listing(5) == []


def test_writers_in_many_threads_do_not_mix(tmp_path: Path) -> None:
    grown: list[int] = []
    store = LogStore(str(tmp_path), grown.append)

    def write(name: str) -> None:
        at = 0
        for number in range(200):
            at = store.append(3, 1, name, at, f"{name} {number}\n".encode())

    threads = [threading.Thread(target=write, args=(f"log{at}",)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for at in range(8):
        lines = store.read(3, f"log{at}", 0, 1 << 20).decode().splitlines()
        assert lines == [f"log{at} {number}" for number in range(200)]
    assert grown == [3] * 1600


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    """/dev/full refuses every write as a full disk does."""
    store = LogStore(str(tmp_path))
    store.append(1, 1, "log", 0, b"kept")
    os.rename(tmp_path / "1" / "1", tmp_path / "aside")
    os.symlink("/dev/full", tmp_path / "1" / "1")
    script = textwrap.dedent(
        f"""
        from trainyard.contract.errors import DiskFull
        from trainyard.server.logs.service import LogStore
        try:
            LogStore({str(tmp_path)!r}).append(1, 1, "log", 0, b"kept and more")
        except DiskFull as error:
            print(error.code)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "disk.full"
    os.remove(tmp_path / "1" / "1")
    os.rename(tmp_path / "aside", tmp_path / "1" / "1")
    assert store.append(1, 1, "log", 0, b"kept and more") == 13
    assert store.read(1, "log", 0, 100) == b"kept and more"
