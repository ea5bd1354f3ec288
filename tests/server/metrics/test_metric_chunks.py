"""Tapes as a job writes them, to columns and back."""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path

from trainyard.contract.tape import CELL, TapeWriter
from trainyard.server.metrics.chunks import Columns, cut, decode, in_time_order, join, pack, unpack


def test_every_kind_of_value_comes_back_as_it_was_logged(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.values("mixed", [1, 2.5, True, None, "grün", -(1 << 63), "", "x" * 100])
    tape.json("rows", '{"row": {"a": 1}}')
    tape.close()
    batch = decode((tmp_path / "t").read_bytes(), {})
    values, steps, _ = in_time_order(batch.metrics["mixed"])
    assert values == [1, 2.5, True, None, "grün", -(1 << 63), "", "x" * 100]
    assert [type(value) for value in values[:3]] == [int, float, bool]
    assert steps == [None] * 8
    assert in_time_order(batch.metrics["rows"])[0] == [{"row": {"a": 1}}]
    assert batch.names == {1: "mixed", 2: "rows"}


def test_packing_keeps_everything_and_leaves_out_what_says_nothing(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    for step in range(10):
        tape.number("plain", float(step))
        tape.number("stepped", math.inf, step)
    tape.values("texts", ["a", 7, "bc"], 3)
    tape.close()
    batch = decode((tmp_path / "t").read_bytes(), {})
    sizes = {name: len(pack(columns)) for name, columns in batch.metrics.items()}
    assert sizes == {"plain": 8 + 160, "stepped": 8 + 240, "texts": 8 + 75}
    for columns in batch.metrics.values():
        assert in_time_order(unpack(pack(columns), columns.texts)) == in_time_order(columns)


def test_cutting_and_joining_keep_texts_with_their_values(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.values("m", ["one", 2, "three", "", 5.0, "six", None])
    tape.close()
    columns = decode((tmp_path / "t").read_bytes(), {}).metrics["m"]
    pieces = cut(columns, 3)
    assert [in_time_order(piece)[0] for piece in pieces] == [["one", 2, "three"], ["", 5.0, "six"], [None]]
    assert in_time_order(join(pieces))[0] == ["one", 2, "three", "", 5.0, "six", None]


def test_a_record_that_is_cut_short_waits(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.number("m", 1.0)
    tape.values("m", ["y" * 70])
    tape.close()
    data = (tmp_path / "t").read_bytes()
    assert len(data) == CELL * 7  # a name and its cell, a number, a text and its three
    assert decode(data[: CELL * 5], {}).end == CELL * 3
    assert decode(data[: CELL * 7 - 1], {}).end == CELL * 3
    assert decode(data[: CELL * 3 + 5], {}).end == CELL * 3
    assert decode(data[:10], {}).end == 0
    assert decode(b"", {}).end == 0
    rest = decode(data[CELL * 3 :], {1: "m"})
    assert (rest.end, in_time_order(rest.metrics["m"])[0]) == (CELL * 4, ["y" * 70])


def test_a_number_means_what_was_said_last_before_it(tmp_path: Path) -> None:
    first, second = TapeWriter(str(tmp_path / "1")), TapeWriter(str(tmp_path / "2"))
    first.number("a", 1.0)
    second.number("b", 2.0)
    both = (tmp_path / "1").read_bytes() + (tmp_path / "2").read_bytes()
    batch = decode(both, {})
    assert {name: in_time_order(columns)[0] for name, columns in batch.metrics.items()} == {"a": [1.0], "b": [2.0]}
    value_first = (tmp_path / "1").read_bytes()[2 * CELL :] + (tmp_path / "2").read_bytes()
    assert list(decode(value_first, {}).metrics) == ["b"]


def test_two_numbers_of_one_name_are_one_metric(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.number("a", 1.0)
    data = (tmp_path / "t").read_bytes()
    again = struct.pack("<BBHIqqd", 2, 0, 0, 9, 5, 10**19 // 2, 4.0)
    batch = decode(again + data + again, {9: "a"})
    assert batch.metrics["a"].values.view("<f8").tolist() == [4.0, 1.0, 4.0]


def test_damaged_and_unknown_cells_are_passed_over(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.number("m", 1.0)
    data = (tmp_path / "t").read_bytes()
    orphan = b"\xff" + os.urandom(31)
    newer = bytes([99]) + b"\0" * 31
    unfinished = struct.pack("<BBHIqqq", 6, 0, 2, 1, 0, 0, 40)  # a text whose cells never came
    batch = decode(orphan + newer + unfinished + data + newer, {1: "m"})
    assert batch.end == CELL * 7
    assert in_time_order(batch.metrics["m"])[0] == [1.0]


def test_order_is_by_time_then_arrival(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.values("m", [1, "two", 3], 0)
    columns = decode((tmp_path / "t").read_bytes(), {}).metrics["m"]
    mixed = Columns(columns.times - [0, 5, 5], columns.steps, columns.values, columns.kinds, columns.texts)
    assert in_time_order(mixed)[0] == ["two", 3, 1]


def test_names_are_cut_to_what_a_database_can_index(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "t"))
    tape.number("n" * 1000, 1.0)
    tape.number("nul\0", 1.0)
    assert list(decode((tmp_path / "t").read_bytes(), {}).metrics) == ["n" * 512, "nul\N{REPLACEMENT CHARACTER}"]
