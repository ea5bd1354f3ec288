"""How ranks that mpirun has started ended, as their files in the node's folder tell."""

from __future__ import annotations

import os
from pathlib import Path

from trainyard.agent.mpi import failed, unfinished


def ended(folder: Path, rank: int, code: int, at_s: int = 0) -> None:
    path = folder / f"rank-{rank}.code"
    path.write_text(f"{code}\n")
    os.utime(path, (at_s, at_s))


def test_a_rank_that_has_not_ended_is_told_from_those_that_have(tmp_path: Path) -> None:
    ended(tmp_path, 2, 0)
    assert unfinished(str(tmp_path), (2, 3)) == [3]


def test_ranks_that_failed_come_in_the_order_in_which_they_did(tmp_path: Path) -> None:
    ended(tmp_path, 0, 0, at_s=1)
    ended(tmp_path, 1, 7, at_s=9)
    ended(tmp_path, 2, 139, at_s=5)
    assert failed(str(tmp_path), range(4)) == [(2, -11), (1, 7)]


def test_a_note_that_is_not_whole_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "rank-0.code").write_text("")
    assert failed(str(tmp_path), [0]) == []
