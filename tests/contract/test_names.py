"""Names as the SDK allowed them, and file names that cannot climb."""

from __future__ import annotations

import re

import pytest

from trainyard.contract.errors import InvalidName
from trainyard.contract.names import check_file_name, check_name, new_id, new_run_id


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("a workspace", "yard"),
        ("a workspace", "a_b-9"),
        ("a workspace", "a" * 33),
        ("an experiment", "x"),
        ("an experiment", "9" * 255),
        ("a compute target", "cpu-cluster"),
        ("a run", "first_1600000000_0123abcd"),
    ],
)
def test_good_names(kind: str, name: str) -> None:
    assert check_name(kind, name) == name


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("a workspace", "ab"),
        ("a workspace", "a" * 34),
        ("a workspace", "-abc"),
        ("an experiment", ""),
        ("an experiment", "a/b"),
        ("an experiment", "a.b"),
        ("an experiment", "a b"),
        ("an experiment", "a\n"),
        ("an experiment", "a学习"),
        ("an experiment", "é"),
        ("an experiment", "a" * 256),
        ("an experiment", None),
        ("an experiment", 7),
        ("a compute target", "c"),
        ("a compute target", "9cpu"),
        ("a compute target", "cpu_cluster"),
        ("a compute target", "c" * 33),
        ("a run", "../x"),
        ("a run", "_x"),
    ],
)
def test_bad_names(kind: str, name: object) -> None:
    with pytest.raises(InvalidName, match=f"cannot be the name of {kind}: .* Choose another name"):
        check_name(kind, name)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("outputs/model.pkl", "outputs/model.pkl"),
        ("./a//b/", "a/b"),
        ("/etc/passwd", "etc/passwd"),
        ("a\\b", "a/b"),
        ("数据/ü.txt", "数据/ü.txt"),
        ("..a/b..", "..a/b.."),
    ],
)
def test_file_names(given: str, kept: str) -> None:
    assert check_file_name(given) == kept


@pytest.mark.parametrize("name", ["", ".", "/", "..", "a/../b", "..\\b", "a\0b", "x" * 1025, None, b"a", "\udcff"])
def test_file_names_that_are_refused(name: object) -> None:
    with pytest.raises(InvalidName):
        check_file_name(name)


def test_ids() -> None:
    assert re.fullmatch(r"first_1600000000_[0-9a-f]{8}", new_run_id("first", 1600000000.9))
    assert new_run_id("first", 1) != new_run_id("first", 1)
    assert re.fullmatch(r"[0-9a-f]{32}", new_id())
