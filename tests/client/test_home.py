"""The embedded home: one service, found or started, whatever is left over from the last one."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import trainyard
from trainyard.client.home import Home
from trainyard.client.http import Http
from trainyard.contract.errors import ServiceUnavailable

STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home whose service is the stand-in; what was started ends with the test."""
    folder = tmp_path / "home"
    folder.mkdir()
    program = tmp_path / "python"
    source = Path(trainyard.__file__).parent.parent
    program.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {sys.executable} {STAND_IN} "$@"\n')
    program.chmod(0o755)
    (folder / "python").write_text(str(program))
    yield Home(str(folder))
    for pid, _ in starts(Home(str(folder))):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def starts(home: Home) -> list[tuple[int, str]]:
    """(pid, TRAINYARD_ATTEMPT) of each start of the stand-in."""
    path = Path(home.file("starts"))
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(line.split()[0]), line.split()[1]) for line in lines]


@contextlib.contextmanager
def held(path: str) -> Iterator[subprocess.Popen[bytes]]:
    """A live process that holds the lock on `path`."""
    program = (
        "import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT);"
        "fcntl.flock(fd, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.stdin.close()


def say(home: Home, **changes: object) -> None:
    said = {"pid": os.getpid(), "url": "http://127.0.0.1:1", "version": "0.1.0", "python": "/p", **changes}
    Path(home.file("server.json")).write_text(json.dumps(said))


def dead_pid() -> int:
    with subprocess.Popen(["true"]) as process:
        pass
    return process.pid


def test_where_home_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Home.default({"TRAINYARD_HOME": "/srv/yard/"}).path == "/srv/yard"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Home.default({}).path == str(tmp_path / ".trainyard")
    assert Home.default({"TRAINYARD_HOME": "~/yard"}).path == str(tmp_path / "yard")


def test_nothing_runs_in_an_empty_home(home: Home) -> None:
    assert home.running() is None
    assert not home.locked()
    with pytest.raises(ServiceUnavailable, match=r"No service runs for .*trainyard server"):
        _ = Http(None, None, home, start=False).url


def test_a_stale_file_is_not_a_service(home: Home) -> None:
    say(home)
    Path(home.file("server.lock")).write_text("")
    assert home.running() is None


def test_a_lock_held_by_a_live_process_and_its_file(home: Home) -> None:
    with held(home.file("server.lock")) as service:
        assert home.running() is None  # still starting
        say(home, pid=service.pid)
        running = home.running()
        assert running is not None
        assert (running.pid, running.url, running.python) == (service.pid, "http://127.0.0.1:1", "/p")
    assert home.running() is None  # ended: the file alone means nothing


def test_the_file_of_a_killed_service_does_not_pass_for_the_next_one_s(home: Home) -> None:
    """The next holds the lock, and has not said where it is yet."""
    say(home, pid=dead_pid())
    with held(home.file("server.lock")):
        assert home.running() is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"pid": "x", "url": 1, "version": 1, "python": 1}'])
def test_a_damaged_file(home: Home, text: str) -> None:
    Path(home.file("server.json")).write_text(text)
    with held(home.file("server.lock")):
        assert home.running() is None


def test_a_service_is_started_and_found_again(home: Home) -> None:
    running = home.ensure_running()
    assert home.ensure_running() == running
    assert [pid for pid, _ in starts(home)] == [running.pid]
    assert os.getsid(running.pid) == running.pid != os.getsid(0)  # it outlives whoever started it
    http = Http.from_env({"TRAINYARD_HOME": home.path})
    assert http.json("GET", "/status") == {"pid": running.pid, "token": "Bearer owner-token"}
    http.close()


def test_a_killed_service_is_started_again(home: Home) -> None:
    http = Http(None, None, home)
    first = http.json("GET", "/status")["pid"]
    os.kill(first, signal.SIGKILL)
    second = http.json("GET", "/status")["pid"]  # over the connection that has just died
    http.close()
    assert second != first
    assert [pid for pid, _ in starts(home)] == [first, second]


def test_two_processes_at_once_get_one_service(home: Home) -> None:
    program = (
        "import sys; from trainyard.client.home import Home; sys.stdin.readline();"
        "print(Home(sys.argv[1]).ensure_running().pid)"
    )
    source = str(Path(trainyard.__file__).parent.parent)
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", program, home.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": source},
        )
        for _ in range(4)
    ]
    for client in clients:
        assert client.stdin is not None
        client.stdin.write(b"\n")
        client.stdin.flush()
    pids = {int(client.communicate()[0]) for client in clients}
    assert len(pids) == 1
    assert [pid for pid, _ in starts(home)] == list(pids)


def test_who_started_the_service_ends_without_a_warning(home: Home) -> None:
    program = "import sys; from trainyard.client.home import Home; print(Home(sys.argv[1]).ensure_running().pid)"
    source = str(Path(trainyard.__file__).parent.parent)
    client = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, home.path],
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert client.stderr == ""
    assert [pid for pid, _ in starts(home)] == [int(client.stdout)]


def test_threads_at_once_get_one_service(home: Home) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(home.ensure_running().pid)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(starts(home)) == 1


def test_a_service_that_is_slow_to_start_is_waited_for(home: Home) -> None:
    Path(home.file("play")).write_text("late")
    found: list[int] = []
    waiting = threading.Thread(target=lambda: found.append(home.ensure_running().pid))
    waiting.start()
    while not home.locked():
        waiting.join(0.005)
    say(home, pid=dead_pid())  # what the one before it left behind
    assert waiting.is_alive()
    Path(home.file("go")).write_text("")
    waiting.join()
    assert found == [starts(home)[0][0]]


def test_a_service_that_cannot_start_says_why(home: Home) -> None:
    Path(home.file("play")).write_text("broken")
    with pytest.raises(ServiceUnavailable, match=r"did not start.*\n.*the database is locked away\n.*trainyard doctor"):
        home.ensure_running()
    assert len(starts(home)) == 1


def test_a_home_that_was_taken_for_a_moment_is_tried_again(home: Home) -> None:
    """Looking whether a lock is held holds it, shortly: a service that starts just then sees it taken."""
    Path(home.file("play")).write_text("taken")
    assert home.ensure_running().pid == starts(home)[1][0]
    assert len(starts(home)) == 2


def test_a_service_of_another_version(home: Home) -> None:
    Path(home.file("version")).write_text("7.3.0")
    with pytest.raises(ServiceUnavailable, match=r"is Trainyard 7\.3\.0 and this is .*trainyard stop"):
        home.ensure_running()


def test_a_service_started_from_a_job_is_no_part_of_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_ATTEMPT", "attempt-1")
    home.ensure_running()
    assert [mark for _, mark in starts(home)] == ["-"]


def test_a_recorded_interpreter_that_is_gone(home: Home) -> None:
    Path(home.file("python")).write_text("/no/such/python")
    assert home._python() == sys.executable


def test_no_token_yet(home: Home) -> None:
    with pytest.raises(ServiceUnavailable, match=r"Cannot read .*token.*trainyard doctor"):
        home.token()


def test_a_look_leaves_no_lock_behind(home: Home) -> None:
    with open(home.file("server.lock"), "w") as file:
        assert not home.locked()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert home.locked()


def test_a_file_is_no_home(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServiceUnavailable, match=r"file cannot be Trainyard's home: File exists\. Set TRAINYARD_HOME"):
        Home(str(tmp_path / "file")).ensure_running()


def test_a_home_that_cannot_be_written_to(home: Home) -> None:
    os.mkdir(home.file("start.lock"))  # what no user may write to, root may: a folder in the file's place is no file
    with pytest.raises(
        ServiceUnavailable, match=r"home cannot be Trainyard's home: Is a directory\. Set TRAINYARD_HOME"
    ):
        home.ensure_running()


def test_a_disk_without_room_for_a_log_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(home.file("play")).write_text("broken")
    monkeypatch.setattr("trainyard.client.home._LEAST_ROOM", 1 << 62)
    with pytest.raises(
        ServiceUnavailable, match=r"disk that holds .*home is full\. Free some space, or set TRAINYARD_HOME"
    ):
        home.ensure_running()
