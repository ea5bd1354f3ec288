"""The service is killed, paused or replaced while runs go on: it comes back, and nothing is lost or doubled."""

from __future__ import annotations

import contextlib
import io
import signal
import threading

import pytest
from stead import Stead, is_alive, kill, until

# Numbered lines and metrics at speed, until the file `enough` is there; says at the end how many there were.
WRITER = """
import os, sys, time
from azureml.core import Run
run = Run.get_context()
enough, count = sys.argv[1], 0
while not os.path.exists(enough):
    for _ in range(20):
        print('line', count, flush=True)
        run.log('count', count)
        count += 1
    time.sleep(0.01)
open(enough, 'w').write(str(count))
"""


class Reader(threading.Thread):
    """Somebody in wait_for_completion(show_output=True) all the while."""

    def __init__(self, run) -> None:
        super().__init__(daemon=True)
        self.run_object, self.out = run, io.StringIO()

    def run(self) -> None:
        with contextlib.redirect_stdout(self.out):
            self.run_object.wait_for_completion(show_output=True)

    def lines(self) -> list[str]:
        self.join(60)
        assert not self.is_alive()
        return [line for line in self.out.getvalue().splitlines() if line.startswith("line ")]


def expect_all_once(stead: Stead, run, count: int) -> None:
    lines = [f"line {number}" for number in range(count)]
    assert stead.log(run).decode().splitlines() == lines
    assert run.get_metrics() == {"count": list(range(count))}


def test_killed_three_times_while_a_run_writes(stead):
    enough = stead.root / "enough"
    run = stead.submit(WRITER, arguments=[enough])
    reader = Reader(run)
    reader.start()
    url = stead.home.ensure_running().url
    for _ in range(3):
        seen = len(stead.log(run))
        until(lambda seen=seen: len(stead.log(run)) > seen + 2000)
        pid = stead.service_pid()
        kill(pid)
        assert stead.next_service(pid).url == url  # an agent, or the reader, found it gone and started it
    enough.write_text("")
    lines = reader.lines()
    assert run.get_status() == "Completed"
    assert stead.states(run).count("Running") == 1
    count = int(enough.read_text())
    assert lines == [f"line {number}" for number in range(count)]
    expect_all_once(stead, run, count)


def test_killed_with_nobody_reading_an_agent_starts_it(stead):
    enough = stead.root / "enough"
    run = stead.submit(WRITER, arguments=[enough])
    until(lambda: len(stead.log(run)) > 1000)
    pid = stead.service_pid()
    kill(pid)
    stead.next_service(pid)
    enough.write_text("")
    run.wait_for_completion()
    expect_all_once(stead, run, int(enough.read_text()))


def test_paused_while_a_run_writes(stead):
    enough = stead.root / "enough"
    run = stead.submit(WRITER, arguments=[enough])
    reader = Reader(run)
    reader.start()
    until(lambda: stead.log(run))
    pid = stead.service_pid()
    kill(pid, signal.SIGSTOP)
    try:
        [agent] = stead.agent_pids(run)
        enough.write_text("")
        until(lambda: enough.read_text() != "")  # the script went on and ended without the service
        assert is_alive(agent)  # it keeps what it has until somebody takes it
    finally:
        kill(pid, signal.SIGCONT)
    lines = reader.lines()
    assert stead.service_pid() == pid
    count = int(enough.read_text())
    assert lines == [f"line {number}" for number in range(count)]
    expect_all_once(stead, run, count)


@pytest.mark.parametrize("wait_for", [None, "Starting"])
def test_killed_right_after_it_accepted_a_run(stead, wait_for):
    """The run runs, and runs once."""
    stead.service_pid()
    ran = stead.root / "ran"
    run = stead.submit("import sys\nopen(sys.argv[1], 'a').write('once\\n')\n", arguments=[ran])
    if wait_for:
        until(lambda: run.get_status() != "NotStarted")
    kill(stead.home.running().pid)
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    assert ran.read_text() == "once\n"
    assert stead.rows("SELECT count(*) FROM attempts") == [(1,)]


def test_a_job_that_needs_the_killed_service_brings_it_back(stead):
    """The job's own path holds our overlay, which has no service in it."""
    go = stead.root / "go"
    code = (
        "import os, sys, time\nfrom azureml.core import Run\nrun = Run.get_context()\nrun.tag('before', '1')\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "os.kill(int(open(sys.argv[1]).read()), 9)\n"
        "run.tag('after', '2')\nprint(run.get_tags()['after'])\n"
    )
    run = stead.submit(code, arguments=[go])
    until(lambda: b"ready" in stead.log(run))
    (stead.root / "go.new").write_text(str(stead.service_pid()))
    (stead.root / "go.new").rename(go)
    run.wait_for_completion()
    assert stead.log(run) == b"ready\n2\n"
    assert run.get_tags() == {"before": "1", "after": "2"}
    # and it outlives the job that started it
    assert is_alive(stead.home.running().pid)
