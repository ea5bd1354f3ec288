"""One home, one service: at the same instant, after a crash, beside strangers, across versions, after an idle time."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from stead import is_alive, kill, python, said, until

import trainyard
from azureml.core import Experiment, Workspace
from azureml.exceptions import ServiceException
from trainyard.client.home import Home

CLIENT = """
import json, os, sys, time
from azureml.core import Workspace
from trainyard.client.home import Home
while time.time() < float(sys.argv[1]): pass
ws = Workspace.create(name='yard', exist_ok=True)
print(json.dumps([Home(os.environ['TRAINYARD_HOME']).running().pid, ws.name]))
"""


def test_clients_at_the_same_instant_get_one_service(stead):
    import time

    at = str(time.time() + 1.0)
    clients = [python(CLIENT, at) for _ in range(4)]
    answers = [said(client) for client in clients]
    assert {pid for pid, _ in answers} == {stead.service_pid()}
    services = [pid for pid, line in stead.command_lines() if "trainyard.server" in line and is_alive(pid)]
    assert len(services) == 1
    assert len(Workspace.list("local")) == 1 or Workspace.get("yard").name == "yard"


def test_what_a_killed_service_left_does_not_pass_for_one(stead):
    """Its server.json, with a process id that somebody else has by now."""
    first = stead.home.ensure_running()
    kill(first.pid)
    until(lambda: not stead.home.locked())
    left = json.loads(Path(stead.home.file("server.json")).read_text())
    Path(stead.home.file("server.json")).write_text(json.dumps({**left, "pid": os.getpid()}))
    assert stead.home.running() is None
    second = stead.home.ensure_running()
    assert (second.url, second.pid in (first.pid, os.getpid())) == (first.url, False)
    assert stead.workspace.name == "yard"


@pytest.mark.parametrize("text", ["{", '{"pid": 1}'])
def test_a_damaged_server_json(stead, text):
    os.makedirs(stead.home.path)
    Path(stead.home.file("server.json")).write_text(text)
    Path(stead.home.file("port")).write_text("no number")
    assert stead.workspace.name == "yard"


def test_a_token_that_was_made_and_not_written(stead):
    """An empty one lets nobody in, and an empty secret would be known to everybody."""
    os.makedirs(stead.home.path)
    for name in ("token", "secret"):
        Path(stead.home.file(name)).touch(0o644)
    assert stead.workspace.name == "yard"
    for name in ("token", "secret"):
        file = Path(stead.home.file(name))
        assert len(file.read_text()) == 43
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_stranger_on_the_port_of_last_time(stead):
    first = stead.home.ensure_running()
    stead.yard().stop()
    port = int(first.url.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):
        second = stead.home.ensure_running()
        assert second.url != first.url
        assert stead.workspace.name == "yard"


def test_a_stop_and_a_call_at_the_same_moment(stead):
    """Whoever comes while a service ends gets the next one, and no error."""
    for _ in range(2):
        pid = stead.service_pid()
        kill(pid, 15)
        # the old one may still answer at first; what counts is that every call is answered
        until(lambda pid=pid: stead.workspace.name == "yard" and stead.home.ensure_running().pid != pid)


def other_version(folder: Path, version: str) -> dict[str, str]:
    """Variables that make an interpreter use a copy of our packages which says it is of another version."""
    source = Path(trainyard.__file__).parent.parent
    for package in ("trainyard", "azureml"):
        shutil.copytree(source / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    init = folder / "trainyard" / "__init__.py"
    init.write_text(init.read_text().replace(trainyard.__version__, version))
    return {"PYTHONPATH": str(folder)}


def test_a_client_of_another_version(stead, tmp_path):
    """It is told, with both versions and the way out, and that is one; until then the service stays."""
    pid = stead.service_pid()
    code = (
        "import json\nfrom azureml.core import Workspace\n"
        "try:\n    Workspace.create(name='yard', exist_ok=True)\nexcept Exception as error:\n"
        "    print(json.dumps([type(error).__name__, str(error)]))\n"
    )
    other = other_version(tmp_path, "9.7.0")
    kind, message = said(python(code, **other))
    assert kind == "ServiceException"
    assert f"is Trainyard {trainyard.__version__} and this is 9.7.0. Stop it with `trainyard stop`" in message
    assert stead.service_pid() == pid
    assert "has stopped" in python("from trainyard.cli.main import main\nmain(['stop'])", **other).communicate()[0]
    assert stead.home.running() is None


def test_a_second_service_of_another_version(stead, tmp_path):
    pid = stead.service_pid()
    second = subprocess.run(
        [sys.executable, "-m", "trainyard.server", "--home", stead.home.path],
        env={**os.environ, **other_version(tmp_path, "9.7.0")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert second.returncode == 3
    assert f"Another service already runs for {stead.home.path}. See `trainyard status`." in second.stderr
    assert stead.home.ensure_running().pid == pid
    assert stead.workspace.name == "yard"


def test_a_service_of_another_version_that_is_there_first(stead, tmp_path):
    """An older service that does not understand us is not used, and not replaced behind anybody's back."""
    os.makedirs(stead.home.path)
    first = subprocess.Popen(
        [sys.executable, "-m", "trainyard.server", "--home", stead.home.path],
        env={**os.environ, **other_version(tmp_path, "9.7.0")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(stead.home.running)
    with pytest.raises(ServiceException, match=r"is Trainyard 9\.7\.0 and this is"):
        Workspace.create(name="yard", exist_ok=True)
    first.terminate()
    assert first.wait(60) == 0
    assert stead.workspace.name == "yard"


def test_a_database_of_a_newer_version(stead):
    stead.workspace  # noqa: B018 - makes it
    stead.yard().stop()
    [(ours,)] = stead.rows("SELECT version_num FROM alembic_version")
    set_revision(stead.home, "9999")
    with pytest.raises(ServiceException, match="has shape 9999, made by a newer Trainyard"):
        Workspace.get("yard")
    assert stead.rows("SELECT version_num FROM alembic_version") == [("9999",)]
    set_revision(stead.home, ours)
    assert Workspace.get("yard").name == "yard"


def test_a_damaged_database_is_said_in_one_sentence_and_left_alone(stead):
    Path(stead.home.path).mkdir(mode=0o700)
    file = Path(stead.home.file("trainyard.db"))
    file.write_text("garbage" * 100)
    with pytest.raises(ServiceException, match=r"trainyard\.db cannot be read: file is not a database") as caught:
        Workspace.get("yard")
    assert "Traceback" not in str(caught.value)
    assert file.read_text() == "garbage" * 100


def set_revision(home: Home, revision: str) -> None:
    with closing(sqlite3.connect(home.file("trainyard.db"))) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))


def test_stops_when_idle_and_comes_back_with_everything(stead, monkeypatch):
    monkeypatch.setenv("TRAINYARD_IDLE_STOP", "1")
    pid = stead.service_pid()
    done = stead.root / "done"
    run = stead.submit(
        "import os, sys, time\nfrom azureml.core import Run\nrun = Run.get_context()\nfor n in range(30):\n"
        "    time.sleep(0.1)\n    run.log('n', n)\nopen(sys.argv[1], 'w')\n",
        arguments=[done],
    )
    # nobody asks for anything for three times as long as it would wait, but a run runs
    until(done.exists)
    until(lambda: not stead.home.locked())
    assert "idle for 1 s: stopping" in Path(stead.home.file("service.log")).read_text()
    assert run.get_status() == "Completed"
    assert run.get_metrics() == {"n": list(range(30))}
    assert stead.service_pid() != pid


def test_the_process_of_an_interactive_run_is_killed(stead):
    code = (
        "import os\nfrom azureml.core import Experiment, Workspace\n"
        "ws = Workspace.create(name='yard', exist_ok=True)\n"
        "run = Experiment(ws, 'live').start_logging(snapshot_directory=None)\n"
        "for n in range(5000): run.log('n', n)\n"
        "run.log('text', 'last words')\nrun.log_list('list', [1, 2, 3])\n"
        "print(run.id, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    process = python(code)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == -9
    from azureml.core import Run

    run = Run.get(stead.workspace, out.strip().splitlines()[-1])
    assert run.get_metrics() == {"n": list(range(5000)), "text": "last words", "list": [1, 2, 3]}
    assert run.get_status() == "Running"  # nobody said that it is over
    run.complete()
    assert run.get_status() == "Completed"


def test_the_service_is_killed_under_an_interactive_run(stead):
    run = Experiment(stead.workspace, "live").start_logging(snapshot_directory=None)
    for n in range(300):
        run.log("n", n)
        if n in (100, 200):
            kill(stead.service_pid())
    run.complete()
    assert run.get_status() == "Completed"
    assert run.get_metrics() == {"n": list(range(300))}
