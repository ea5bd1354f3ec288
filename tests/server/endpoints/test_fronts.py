"""A front's folder, without a front: its log and who it is taken for."""

from __future__ import annotations

import json
import os
from pathlib import Path

from trainyard.contract.serving import ServicePlan
from trainyard.server.endpoints.fronts import Front


def test_nobody_is_taken_for_a_front(tmp_path: Path) -> None:
    front = Front(str(tmp_path))
    assert (front.alive(), front.pid(), front.status(), front.plan()) == (False, None, None, None)
    (tmp_path / "alive.pid").write_text(str(os.getpid()))  # a number that somebody else has by now
    (tmp_path / "status.json").write_text(json.dumps({"name": "s", "generation": 1, "state": "Healthy", "pid": 1}))
    assert front.pid() is None
    assert front.stop(0.1) is True
    assert front.usage().processes == 0


def test_a_plan_comes_back_as_it_was_written(tmp_path: Path) -> None:
    plan = ServicePlan("s", 3, key_digests=("a", "b"), token_digests={"t": 5})
    Front(str(tmp_path / "new")).write_plan(plan)
    assert Front(str(tmp_path / "new")).plan() == plan


def test_a_log_is_read_from_its_end(tmp_path: Path) -> None:
    front = Front(str(tmp_path))
    assert (front.log_tail(5), front.read_log(0)) == ("", b"")
    (tmp_path / "service.log").write_text("one\ntwo\nthree\n")
    assert front.log_tail(2) == "two\nthree\n"
    assert front.read_log(4) == b"two\nthree\n"


def test_a_long_log_begins_anew_and_its_writers_go_on(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    writer = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(writer, b"old " * 10)
    Front(str(tmp_path)).shorten_log(limit=20)
    os.write(writer, b"new")
    os.close(writer)
    assert path.read_bytes() == b"new"
    assert (tmp_path / "service.log.1").read_bytes() == b"old " * 10
