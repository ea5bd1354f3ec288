"""The control group of an agent: what its script starts is in it, where the system allows groups at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from yard import DRIVER, Yard

from trainyard.agent import cgroup


def test_a_script_is_in_the_group_of_its_node(yard: Yard) -> None:
    if cgroup.usable_root() is None:
        pytest.skip("no control groups may be made here")
    heard = yard.run("print(open('/proc/self/cgroup').read())")
    [attempt_id] = yard.service.attempts
    assert f"/{cgroup.PREFIX}{attempt_id}-0\n" in heard.log(DRIVER).decode()


def test_entering_aside(tmp_path: Path) -> None:
    entering = cgroup.Entering(str(tmp_path))
    entering.wait()
    entering.wait()
    assert (tmp_path / "cgroup.procs").read_text() == "0"


def test_no_group_is_entered_at_once() -> None:
    cgroup.Entering(None).wait()
