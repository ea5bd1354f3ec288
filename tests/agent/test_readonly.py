"""What a job may read and not write. The kernel is the real one, asked as we are and as a user without rights."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainyard.agent import readonly
from trainyard.agent.crew import Crew
from trainyard.agent.workplace import Workplace
from trainyard.contract.attempts import AgentOrder

TRIES = """
import os, sys
for path in sys.argv[1:]:
    try:
        open(path, "a").write("!")
        print("wrote", os.path.basename(path))
    except OSError as error:
        print(error.strerror, os.path.basename(path))
print(os.getcwd(), os.getuid(), os.readlink("/proc/self/ns/mnt"))
"""


@pytest.fixture
def data(tmp_path):
    for folder in ("data/out", "data/deep", "else"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("data/a", "data/deep/b", "data/out/c", "else/d", "else/e"):
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("mounts", "read_only", "writable"),
    [
        ({"/d/a": False}, ["/d/a"], []),
        ({"/d/a": False, "/d/a/out": True}, ["/d/a"], ["/d/a/out"]),
        ({"/d/a": False, "/d/a/b": False, "/d/ab": False}, ["/d/a", "/d/ab"], []),
        ({"/d/a": False, "/d": True}, [], []),
        ({"/d/a": True}, [], []),
        ({"/": False}, [], []),
        ({"/home": False, "/home/ada": False, "/home/ada/data": False}, ["/home/ada/data"], []),
        ({"/tmp": False, "/tmp/data": False}, ["/tmp/data"], []),
        ({"/home/ada/data/": False, "/home/ada/data": True}, [], []),
    ],
)
def test_what_is_made_read_only(mounts, read_only, writable):
    assert readonly.choose(mounts, ["/home/ada/work"]) == (read_only, writable)


@pytest.mark.parametrize("as_user", [False, True])
def test_the_processes_read_and_do_not_write(data, as_user):
    read_only = [str(data / "data"), str(data / "else/d")]
    try:
        guarded = readonly._arranged(read_only, [str(data / "data/out")], as_user=as_user)
    except OSError as error:
        pytest.skip(f"the kernel does not let us: {error}")
    tried = [str(data / name) for name in ("data/a", "data/new", "data/deep/b", "data/out/c", "else/d", "else/e")]
    said = [
        subprocess.run(
            [sys.executable, "-c", TRIES, *tried],
            preexec_fn=guarded.entering(str(data / "else")),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    for descriptor, _ in guarded.namespaces:
        os.close(descriptor)
    assert said[0] == said[1]  # of the same view
    no = "Read-only file system"
    assert said[0][:6] == [f"{no} a", f"{no} new", f"{no} b", "wrote c", f"{no} d", "wrote e"]
    assert said[0][6].startswith(f"{data}/else {os.getuid()} ")
    assert os.readlink("/proc/self/ns/mnt") not in said[0][6]
    (data / "data/a").write_text("out here nothing has changed")


def children() -> set[str]:
    """Those this thread began, which may have some from other tests."""
    return {*Path("/proc/thread-self/children").read_text().split()}


def test_what_the_kernel_refuses_is_an_error_and_leaves_nothing(data):
    files, processes = os.listdir("/proc/self/fd"), children()
    with pytest.raises(OSError, match="No such file"):
        readonly.guard([str(data / "none")], [])
    assert os.listdir("/proc/self/fd") == files
    assert children() == processes


def test_a_refusal_is_one_line_in_the_log(tmp_path):
    said = []
    order = AgentOrder("a1", 0, "token", None, str(tmp_path / "home"), str(tmp_path / "work"))
    place = Workplace(order.work, 0)
    crew = Crew(order, place, None, None, None, said.append, mounts={str(tmp_path / "gone"): False})
    crew._guard({})
    assert crew.guarded is None
    assert len(said) == 1
    assert said[0].endswith(f"Not made read-only (No such file or directory), do not write there: {tmp_path}/gone.")
