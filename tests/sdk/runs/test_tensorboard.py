"""TensorBoard over runs: the real program, the real service."""

import json
import os
import socket
import urllib.request

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from azureml.tensorboard import Tensorboard
from azureml.tensorboard.export import export_to_tensorboard
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.runs.tensorboard import Mirror
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

# Writes event files as a framework would, in two folders, and asks for them as metrics.
JOB = """\
import os, sys, time
sys.path.insert(0, sys.argv[1])
from azureml.core import Run
from trainyard.sdk.runs.event_files import Scalar, encode, header
run = Run.get_context()
if "--sync" in sys.argv:
    run.sync_tensorboard()
os.makedirs("logs/train", exist_ok=True)
for folder in (".", "train"):
    with open(f"logs/{folder}/events.out.tfevents.1", "wb") as file:
        file.write(header(1.0))
        for step in range(3):
            file.write(encode(Scalar("loss", step, 1000.0 + step, 0.5 * step)))
"""


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def submitted(workspace, here, *arguments):
    (here / "source").mkdir()
    (here / "source/train.py").write_text(JOB)
    own = Environment("own")
    own.python.user_managed_dependencies = True
    script = ScriptRunConfig(str(here / "source"), "train.py", arguments=[".", *arguments], environment=own)
    run = Experiment(workspace, "board").submit(script)
    run.wait_for_completion()
    return run


def test_event_files_of_a_job_become_metrics_each_once(workspace, here):
    run = submitted(workspace, here, "--sync")
    assert run.get_metrics() == {"loss": [0.0, 0.5, 1.0], "train/loss": [0.0, 0.5, 1.0]}
    (series,) = run._runs.metrics(run.id, "train/loss")
    assert series.steps == (0, 1, 2)
    assert series.times_ns == (1_000_000_000_000, 1_001_000_000_000, 1_002_000_000_000)
    run.sync_tensorboard()
    assert run.get_metrics("loss") == {"loss": [0.0, 0.5, 1.0]}


def test_event_files_of_a_run_that_is_over_become_metrics_when_asked(workspace, here):
    run = submitted(workspace, here)
    assert run.get_metrics() == {}
    run.sync_tensorboard()
    run.sync_tensorboard()
    assert run.get_metrics() == {"loss": [0.0, 0.5, 1.0], "train/loss": [0.0, 0.5, 1.0]}


def test_tensorboard_shows_the_logs_of_a_run(workspace, here, capfd):
    run = submitted(workspace, here)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        board = Tensorboard([run], local_root=str(here / "board"), port=taken)
        url = board.start()
    try:
        assert f":{taken}/" not in url
        assert board.start() == url
        assert url.startswith("http://localhost:")
        assert (here / "board" / run.id / "train" / "events.out.tfevents.1").is_file()
        with urllib.request.urlopen(url + "data/plugin/scalars/tags", timeout=30) as answer:
            assert set(json.load(answer)) <= {run.id, f"{run.id}/train"}
    finally:
        board.stop()
    board.stop()
    assert capfd.readouterr().out == f"Port {taken} is taken; TensorBoard takes another.\n{url}\n{url}\n"
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=5)


def test_a_file_that_grew_is_appended_to(workspace, here):
    run = Experiment(workspace, "grows").start_logging(snapshot_directory=None)
    (here / "events").write_bytes(b"one")
    run.upload_file("logs/tb/events", "events")
    mirror = Mirror(run, str(here / "mirror"))
    assert not mirror.update()
    copy = here / "mirror/tb/events"
    inode = os.stat(copy).st_ino
    (here / "events").write_bytes(b"one two")
    run.upload_file("logs/tb/events", "events")
    mirror.update()
    assert (copy.read_bytes(), os.stat(copy).st_ino) == (b"one two", inode)
    (here / "events").write_bytes(b"another")
    run.upload_file("logs/tb/events", "events")
    run.complete()
    assert mirror.update()
    assert copy.read_bytes() == b"another"


def test_what_runs_logged_is_exported(workspace, here):
    experiment = Experiment(workspace, "export")
    run = experiment.start_logging(snapshot_directory=None)
    run.log("loss", 1.0)
    run.log("name", "text")
    run.log_row("row", a=1, b="x")
    run.log("acc", 0.5, step=40)
    run.log("loss", 0.25)
    with run.child_run() as child:
        child.log("k", 7)
    run.complete()
    for _ in range(2):  # again: nothing is there twice
        export_to_tensorboard(run, "out")
    read = EventAccumulator(str(here / "out" / run.id), purge_orphaned_data=False).Reload()
    found = {tag: [(e.step, e.value) for e in read.Scalars(tag)] for tag in read.Tags()["scalars"]}
    assert found == {"loss": [(0, 1.0), (3, 0.25)], "row/a": [(1, 1.0)], "acc": [(40, 0.5)]}
    assert (here / "out" / child.id).is_dir()
    export_to_tensorboard(experiment, "all", recursive=False)
    assert os.listdir("all") == [run.id]
    export_to_tensorboard([child], "one")
    assert os.listdir("one") == [child.id]
    with pytest.raises(UserErrorException, match="takes a run"):
        export_to_tensorboard("text", "out")


def test_only_runs_are_shown():
    with pytest.raises(UserErrorException, match="not a str"):
        Tensorboard(["text"])
