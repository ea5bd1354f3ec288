"""The metric tape: what was logged is there, whole, whatever happened to the one who logged it."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from trainyard.contract import tape
from trainyard.contract.tape import DESCRIPTION, Record, TapeWriter, records, whole_cells


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "0.tape")


def read(path: str) -> list[Record]:
    data = Path(path).read_bytes()
    return list(records(data[: whole_cells(data)]))


def logged(path: str) -> list[tuple[str, object, int | None]]:
    """(name, value, step), the way a reader puts them together."""
    names: dict[int, str] = {}
    found: list[tuple[str, object, int | None]] = []
    for record in read(path):
        if record.kind == tape.NAME:
            assert record.name not in names, "a number given to two names"
            names[record.name] = record.value
        else:
            found.append((names[record.name], record.value, record.step))
    return found


def test_numbers_and_names(path: str) -> None:
    writer = TapeWriter(path)
    assert writer.number("loss", 0.5)
    assert writer.number("acc", 1.0, 7)
    assert writer.number("loss", math.inf, -3)
    writer.close()
    assert logged(path) == [("loss", 0.5, None), ("acc", 1.0, 7), ("loss", math.inf, -3)]
    # two names of one head and one body cell each, three numbers
    assert os.path.getsize(path) == 7 * 32


def test_every_kind_of_value(path: str) -> None:
    writer = TapeWriter(path)
    long = "ü" * 1000
    values = [1.5, -7, True, False, None, "text", "", long, 2**63 - 1, -(2**63), 2**63]
    assert writer.values("v", values, step=3)
    assert writer.json("table", '{"a": [1, 2]}')
    writer.close()
    assert logged(path) == [
        *[("v", value, 3) for value in values[:-1]],
        ("v", "9223372036854775808", 3),
        ("table", '{"a": [1, 2]}', None),
    ]


def test_kinds_keep_apart_what_python_takes_for_equal(path: str) -> None:
    writer = TapeWriter(path)
    writer.values("v", [1, True, 1.0])
    writer.close()
    assert [type(record.value) for record in read(path)[1:]] == [int, bool, float]


def test_strange_names(path: str) -> None:
    names = ["", "a" * 31, "a" * 32, "损失", "\ud800", "line\nbreak"]
    writer = TapeWriter(path)
    for name in names:
        assert writer.number(name, 1.0)
    writer.close()
    assert [name for name, _, _ in logged(path)] == ["", "a" * 31, "a" * 32, "损失", "?", "line\nbreak"]


def test_a_text_longer_than_a_record_is_cut(path: str) -> None:
    writer = TapeWriter(path)
    assert writer.values("v", ["x" * (tape.MAX_TEXT + 100)])
    assert writer.number("after", 1.0)
    writer.close()
    (_, cut, _), after = logged(path)
    assert cut == "x" * 2_031_585
    assert after == ("after", 1.0, None)


def test_times_are_utc_nanoseconds_and_do_not_go_back(path: str) -> None:
    writer = TapeWriter(path)
    before = __import__("time").time_ns()
    writer.number("a", 1.0)
    writer.number("a", 2.0)
    after = __import__("time").time_ns()
    times = [record.time_ns for record in read(path)]
    assert [before, *times, after] == sorted([before, *times, after])


def test_whole_cells_stops_before_what_is_not_all_there(path: str) -> None:
    writer = TapeWriter(path)
    writer.number("a", 1.0)  # 2 + 1 cells
    writer.values("b", ["x" * 100])  # 2 + 5 cells
    writer.close()
    data = Path(path).read_bytes()
    ends = [0, 64, 96, 160, 320]
    for length in range(len(data) + 1):
        assert whole_cells(data[:length]) == max(end for end in ends if end <= length)


def test_reading_random_bytes_ends(path: str) -> None:
    chance = random.Random(11)
    for _ in range(200):
        data = chance.randbytes(32 * chance.randrange(8))
        list(records(data[: whole_cells(data)]))


def test_a_second_writer_goes_on_where_the_first_ended(path: str) -> None:
    TapeWriter(path).number("a", 1.0)
    second = TapeWriter(path)
    second.number("a", 2.0)
    assert [record.value for record in read(path) if record.kind == tape.FLOAT] == [1.0, 2.0]


def test_threads_do_not_mix(path: str) -> None:
    writer = TapeWriter(path)
    start = threading.Barrier(4)

    def work(rank: int) -> None:
        start.wait()
        for step in range(300):
            writer.number(f"name{(rank + step) % 20}", float(rank), step)
            writer.values("text", [f"{rank}:{step} " * 10])

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = logged(path)
    assert len(found) == 2400
    assert sorted(value for name, value, _ in found if name == "text") == sorted(
        f"{rank}:{step} " * 10 for rank in range(4) for step in range(300)
    )
    assert all(name == f"name{(int(value) + step) % 20}" for name, value, step in found if name != "text")


KILLED = """
import os, signal, sys
from trainyard.contract.tape import TapeWriter
writer = TapeWriter(sys.argv[1])
for step in range(1000):
    writer.number("loss", step / 2, step)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_nothing_it_logged(path: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, path])
    assert done.returncode == -signal.SIGKILL
    assert logged(path) == [("loss", step / 2, step) for step in range(1000)]


FULL = """
import os, resource, sys
from trainyard.contract.tape import TapeWriter
path, limit = sys.argv[1], int(sys.argv[2])
def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
writer = TapeWriter(path)
kept = [writer.number("a", 1.0)]
room(limit)  # the disk is full from here on
kept += [writer.values("b", ["x" * 100]), writer.number("c", 2.0), writer.number("a", 3.0)]
room(resource.RLIM_INFINITY)  # and here there is space again
kept += [writer.number("d", 4.0), writer.number("b", 5.0), writer.number("a", 6.0)]
print(kept)
"""


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (96, [("a", 1.0), ("d", 4.0), ("b", 5.0), ("a", 6.0)]),  # not one byte fits
        (100, [("a", 1.0), ("d", 4.0), ("b", 5.0), ("a", 6.0)]),  # a part of a cell fits
        (130, [("a", 1.0), ("a", 3.0), ("d", 4.0), ("b", 5.0), ("a", 6.0)]),  # a number fits, a name and number do not
        (170, [("a", 1.0), ("d", 4.0), ("b", 5.0), ("a", 6.0)]),  # a name fits, its value does not
    ],
)
def test_a_full_disk_tears_nothing(path: str, limit: int, kept: list[tuple[str, float]]) -> None:
    """A limit on the file's size stands in for the disk: a write up to it is cut short, one beyond it refused."""
    done = subprocess.run([sys.executable, "-c", FULL, path, str(limit)], capture_output=True, text=True)
    assert done.stderr == ""
    found = [(name, value) for name, value, _ in logged(path)]
    assert found == kept
    told = done.stdout.count("True")
    assert told == len(found)
    assert os.path.getsize(path) % 32 == 0


HALF_A_LIST = """
import resource, sys
from trainyard.contract.tape import TapeWriter
writer = TapeWriter(sys.argv[1])
writer.number("a", 1.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (150, resource.RLIM_INFINITY))
said = writer.values("a", [2.0, 3.0, 4.0])
read = open(sys.argv[1], "rb").read()  # by whoever ships it, at this moment
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.number("a", 5.0)
print(said, len(read))
"""


def test_what_was_read_of_a_list_stays_where_it_was(path: str) -> None:
    done = subprocess.run([sys.executable, "-c", HALF_A_LIST, path], capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", "False 128\n")  # 22 bytes of the third are gone
    assert [value for _, value, _ in logged(path)] == [1.0, 2.0, 5.0]


def test_a_clock_that_is_set_back_does_not_reorder_what_is_logged(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = TapeWriter(path)
    tape.number("loss", 1.0)
    hour_ago = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: hour_ago)
    tape.number("loss", 2.0)
    tape.values("loss", [3.0])
    times = [record.time_ns for record in read(path)]
    assert times == sorted(times)


def test_a_description_is_a_record_of_its_own(path: str) -> None:
    tape = TapeWriter(path)
    assert tape.describe("loss", "smaller is better, " * 5)
    *_, record = read(path)
    assert (record.kind, record.name, record.value) == (DESCRIPTION, 1, "smaller is better, " * 5)
