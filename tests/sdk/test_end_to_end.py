"""The SDK against the real service, agents and processes, in a home of this module's own."""

import io
import os
import re
import signal
import subprocess
import sys
import zipfile

import pytest

from trainyard.client.home import Home
from trainyard.sdk.computes.amlcompute import AmlCompute
from trainyard.sdk.computes.compute import ComputeTarget
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import (
    ActivityFailedException,
    ComputeTargetException,
    ExperimentExecutionException,
    ServiceException,
    UserErrorException,
    WorkspaceException,
)
from trainyard.sdk.experiment import Experiment, ViewType
from trainyard.sdk.runs.run import Run
from trainyard.sdk.runs.script_run import ScriptRun
from trainyard.sdk.runs.submitted_run import SubmittedRun
from trainyard.sdk.runs.tapes import RunTape
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

TRAIN = """\
import os, sys
from azureml.core import Run
run = Run.get_context()
print("args", sys.argv[1:], flush=True)
for epoch in range(3):
    run.log("loss", 1.0 / (epoch + 1))
run.log("note", "done")
run.log_list("list", [1, 2])
run.log_row("row", a=1, b=2.5)
run.log_table("table", {"x": [1, 2], "y": [3, 4]})
run.complete()
os.makedirs("outputs/deep", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
open("outputs/deep/more.txt", "w").write("more")
child = run.child_run("kid")
child.log("k", 3.0)
child.complete()
run.upload_file("up/given.txt", "outputs/model.txt")
run.tag("stage", "end")
"""


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(here, text, *arguments, **more):
    source = here / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(text)
    return ScriptRunConfig(str(source), "train.py", arguments=list(arguments), **more)


def test_a_script_from_submit_to_its_files(workspace, here, capsys):
    run = Experiment(workspace, "first").submit(config(here, TRAIN, "--epochs", 3), tags={"n": 1})
    assert type(run) is ScriptRun
    details = run.wait_for_completion(show_output=True)
    printed = capsys.readouterr().out
    assert printed.startswith(f"RunId: {run.id}\nWeb View: http://127.0.0.1:")
    name = "azureml-logs/70_driver_log.txt"
    assert f"\nStreaming {name}\n{'=' * (len(name) + 10)}\nargs ['--epochs', '3']\n" in printed
    assert f"\nExecution Summary\n=================\nRunId: {run.id}\n" in printed
    assert (details["status"], details["target"]) == ("Completed", "local")
    assert details["runDefinition"]["arguments"] == ["--epochs", "3"]
    assert details["properties"]["_azureml.ComputeTargetType"] == "local"
    assert details["properties"]["ContentSnapshotId"] == run.get_snapshot_id()
    assert run.get_metrics() == {
        "loss": [1.0, 0.5, 1 / 3],
        "note": "done",
        "list": [1, 2],
        "row": {"a": 1, "b": 2.5},
        "table": {"x": [1, 2], "y": [3, 4]},
    }
    assert run.get_metrics("note") == {"note": "done"}
    assert run.get_metrics("absent") == {}
    (child,) = run.get_children()
    assert run.get_metrics(recursive=True)[child.id] == {"k": 3.0}
    assert child.parent.id == run.id
    assert run.get_tags() == {"n": "1", "stage": "end"}
    assert {"outputs/model.txt", "outputs/deep/more.txt", "up/given.txt", name} <= set(run.get_file_names())
    assert "args" in run.get_details_with_logs()["logFiles"][name]


def test_files_come_back_where_they_are_wanted(workspace, here):
    run = Experiment(workspace, "files").submit(config(here, TRAIN))
    run.wait_for_completion()
    run.download_file("outputs/model.txt")
    assert (here / "model.txt").read_text() == "weights"
    (here / "into").mkdir()
    run.download_file("outputs/model.txt", "into")
    assert (here / "into" / "model.txt").read_text() == "weights"
    run.download_files(prefix="outputs", output_directory="all")
    assert (here / "all" / "outputs" / "deep" / "more.txt").read_text() == "more"
    run.download_files(prefix="outputs/deep", output_directory="cut", append_prefix=False)
    assert (here / "cut" / "more.txt").read_text() == "more"
    with pytest.raises(UserErrorException, match="get_file_names"):
        run.download_file("nothing.txt")
    with pytest.raises(UserErrorException):
        run.download_file("../outside.txt")
    with pytest.raises(UserErrorException):
        run.upload_file("../outside.txt", io.BytesIO(b"x"))
    with pytest.raises(UserErrorException, match=r"is a folder. run.upload_folder"):
        run.upload_file("into", "into")
    logs = run.get_all_logs("logs")
    assert any(path.endswith("azureml-logs/70_driver_log.txt") for path in logs)
    with zipfile.ZipFile(run.restore_snapshot(path="snapshot")) as snapshot:
        assert snapshot.read("train.py").decode() == TRAIN


def test_a_failing_script_raises_with_its_last_lines(workspace, here):
    run = Experiment(workspace, "failing").submit(config(here, "print('the last line')\nraise SystemExit(3)\n"))
    with pytest.raises(ActivityFailedException) as caught:
        run.wait_for_completion()
    assert "the last line" in caught.value.message
    assert '"exitCode": 3' in caught.value.error_details
    assert run.wait_for_completion(raise_on_error=False)["status"] == "Failed"
    assert run.get_status() == "Failed"


def test_a_canceled_run_does_not_raise(workspace, here):
    run = Experiment(workspace, "canceled").submit(config(here, "import time\ntime.sleep(600)\n"))
    run.cancel()
    run.cancel()
    assert run.wait_for_completion()["status"] == "Canceled"


def test_output_goes_on_when_the_service_is_killed_meanwhile(home, workspace, here, capsys):
    text = "import time\nfor n in range(60):\n    print('line', n, flush=True)\n    time.sleep(0.05)\n"
    run = Experiment(workspace, "killed").submit(config(here, text))
    follow = workspace._clients.runs.follow_log
    while not any(name.endswith("70_driver_log.txt") for name in run.get_file_names()):
        workspace._clients.runs.wait(run.id, run._fresh().events, 0.1)
    next(follow(run.id, "azureml-logs/70_driver_log.txt"))
    os.kill(Home(home.path).running().pid, signal.SIGKILL)
    assert run.wait_for_completion(show_output=True)["status"] == "Completed"
    printed = capsys.readouterr().out
    assert re.findall(r"^line (\d+)$", printed, re.MULTILINE) == [str(n) for n in range(60)]


def test_what_is_wrong_is_told_before_anything_is_queued(workspace, here):
    experiment = Experiment(workspace, "refused")
    good = config(here, "")
    with pytest.raises(ComputeTargetException, match="ComputeTargetNotFound"):
        experiment.submit(config(here, "", compute_target="nowhere"))
    with pytest.raises(ExperimentExecutionException):
        experiment.submit(ScriptRunConfig(good.source_directory, "missing.py"))
    with pytest.raises(UserErrorException, match=r"arguments\[0\]"):
        experiment.submit(config(here, "", object()))
    with pytest.raises(UserErrorException, match="cannot be submitted"):
        experiment.submit("train.py")
    for name in ("a/b", "..", "", "имя"):
        with pytest.raises(UserErrorException):
            Experiment(workspace, name)
    assert list(experiment.get_runs()) == []


def test_a_cluster_is_found_or_made_and_told_of(workspace, here, capsys):
    with pytest.raises(ComputeTargetException, match="ComputeTargetNotFound"):
        ComputeTarget(workspace, "cpu-cluster")
    settings = AmlCompute.provisioning_configuration("STANDARD_D1", max_nodes="2")
    made = ComputeTarget.create(workspace, "cpu-cluster", settings)
    made.wait_for_completion(show_output=True)
    assert capsys.readouterr().out == (
        "Creating...\nSucceeded\nAmlCompute wait for completion finished\n\n"
        "Minimum number of nodes requested have been provisioned\n"
    )
    made.wait_for_completion(show_output=True, min_node_count=1)  # not for as long as one may wait
    assert "Nodes come up when a run needs them: cpu-cluster keeps 0, so 1 were not" in capsys.readouterr().out
    found = ComputeTarget(workspace=workspace, name="cpu-cluster")
    assert type(found) is AmlCompute
    status = found.get_status().serialize()
    assert status["scaleSettings"] == {"minNodeCount": 0, "maxNodeCount": 2, "nodeIdleTimeBeforeScaleDown": "PT120S"}
    found.update(max_nodes=3)
    assert workspace.compute_targets["cpu-cluster"].scale_settings.maximum_node_count == 3
    assert [target.name for target in workspace.compute_targets()] == ["cpu-cluster"]  # as in 2018
    wide = config(here, "", compute_target=found)
    wide.run_config.node_count = 4
    with pytest.raises(UserErrorException, match="at most 3"):
        Experiment(workspace, "wide").submit(wide)
    run = Experiment(workspace, "wide").submit(config(here, "print('here')", compute_target=found))
    assert run.wait_for_completion()["target"] == "cpu-cluster"
    with pytest.raises(ComputeTargetException, match="is not an attach configuration"):
        ComputeTarget.attach(workspace, "elsewhere", None)
    with pytest.raises(ComputeTargetException, match="max_nodes is 0; choose a number"):
        found.update(max_nodes=0)
    run = Experiment(workspace, "wide").submit(config(here, "import time; time.sleep(60)", compute_target=found))
    with pytest.raises(ComputeTargetException, match=f"is used by {run.id}"):
        found.delete()
    run.cancel()
    run.wait_for_completion()
    found.delete()
    found.wait_for_completion(is_delete_operation=True)
    assert workspace.compute_targets == {}


def test_an_interactive_run_keeps_what_is_logged_and_written(workspace, here):
    (here / "note.py").write_text("x = 1\n")
    with Experiment(workspace, "interactive").start_logging(display_name="by hand") as run:
        assert (here / "outputs").is_dir()
        (here / "outputs" / "model.txt").write_text("weights")
        print("said aloud")
        run.log("loss", 0.5)
        run.log("loss", 0.25, step=7)
        assert run.get_metrics() == {"loss": [0.5, 0.25]}
        children = run.create_children(tag_key="seed", tag_values=[1, 2])
        assert [child.get_status() for child in children] == ["NotStarted", "NotStarted"]
        for child in children:
            child.complete()
    assert run.get_status() == "Completed"
    assert run.display_name == "by hand"
    assert {"outputs/model.txt", "logs/user_log.txt"} <= set(run.get_file_names())
    assert run._content("logs/user_log.txt") == b"said aloud\n"
    run.log("after", 1.0)
    assert run.get_metrics("after") == {"after": 1.0}
    assert sorted(child.tags["seed"] for child in run.get_children()) == ["1", "2"]
    assert run.get_snapshot_id() is not None


def test_an_exception_in_the_block_fails_the_run(workspace, here):
    with (
        pytest.raises(ZeroDivisionError),
        Experiment(workspace, "failing").start_logging(snapshot_directory=None) as run,
    ):
        1 / 0  # noqa: B018
    assert run.get_status() == "Failed"
    assert run.get_details()["error"]["error"]["message"] == "ZeroDivisionError: division by zero"
    with pytest.raises(SystemExit), Experiment(workspace, "failing").start_logging(snapshot_directory=None) as run:
        raise SystemExit(0)
    assert run.get_status() == "Completed"


def test_metrics_are_sent_where_no_folder_is_shared(workspace, here):
    run = Experiment(workspace, "elsewhere").start_logging(snapshot_directory=None)
    tape = RunTape(lambda: workspace._clients.runs, run.id, lambda: None)
    for n in range(1000):
        assert tape.number("loss", float(n))
    assert tape.in_spool is False
    assert tape.flush(30)
    run.complete()
    assert run.get_metrics()["loss"] == [float(n) for n in range(1000)]


def test_tags_properties_and_children(workspace, here):
    run = Experiment(workspace, "labels").start_logging(snapshot_directory=None)
    run.set_tags({"a": 1, "b": None})
    run.remove_tags("a")
    run.add_properties({"once": 1})
    with pytest.raises(ServiceException, match="written once"):
        run.add_properties({"once": 2})
    assert run.get_tags() == {"b": None}
    assert run.get_properties()["once"] == "1"
    run.complete()
    experiment = Experiment(workspace, "labels")
    assert [found.id for found in experiment.get_runs(tags="b", properties={"once": 1})] == [run.id]
    assert list(experiment.get_runs(tags={"b": "x"})) == []
    assert Run.get(workspace, run.id).get_status() == "Completed"
    with pytest.raises(ServiceException, match="No run"):
        Run(experiment, "nonsense")


def test_experiments_are_listed_tagged_and_archived(workspace, here):
    experiment = Experiment(workspace, "shelf")
    experiment.tag("kind", "old")
    assert [found.name for found in Experiment.list(workspace, tags={"kind": "old"})] == ["shelf"]
    experiment.archive()
    assert "shelf" not in workspace.experiments
    assert "shelf" in {found.name for found in Experiment.list(workspace, view_type=ViewType.ArchivedOnly)}
    assert "shelf" in {found.name for found in Experiment.list(workspace, view_type="All")}  # as later versions say it
    with pytest.raises(UserErrorException, match="must be one of 'ActiveOnly', 'ArchivedOnly', 'All'"):
        Experiment.list(workspace, view_type="Old")
    experiment.reactivate()
    assert experiment.archived_time is None
    Experiment.delete(workspace, experiment.id)
    assert "shelf" not in workspace.experiments


def test_a_workspace_of_the_cloud_is_made_by_whatever_names_it_in_full(workspace, here):
    with pytest.raises(WorkspaceException, match="No workspace named 'nobody'"):
        Workspace.get("nobody")
    with pytest.raises(WorkspaceException, match="exist"):
        Workspace.create("yard", show_output=False)
    assert Workspace("cloud", "group", "old-code").name == Workspace.get("old-code").name == "old-code"
    assert Workspace.get("older", subscription_id="cloud", resource_group="group").resource_group == "group"
    workspace.write_config()
    (here / "deep").mkdir()
    assert Workspace.from_config(str(here / "deep")).name == "yard"
    (here / "config.json").write_text('{"subscription_id": "s", "resource_group": "g", "workspace_name": "fresh"}')
    made = Workspace.from_config(str(here / "config.json"))
    assert (made.name, made.subscription_id, made.resource_group) == ("fresh", "s", "g")
    assert {"yard", "fresh"} <= set(Workspace.list())
    assert made.get_details()["name"] == "fresh"
    made.update(friendly_name="Fresh one", tags={"a": "b"})
    assert (made.get_details()["friendlyName"], made.tags) == ("Fresh one", {"a": "b"})
    assert made.experiments == made.models == {}
    made.delete()
    assert "fresh" not in Workspace.list()


def test_an_endpoint_nobody_answers_at_is_told_with_the_file(home, here, monkeypatch):
    monkeypatch.setenv("TRAINYARD_TOKEN", "t")
    said = '{"subscription_id": "s", "resource_group": "g", "workspace_name": "w", "endpoint": "http://127.0.0.1:9"}'
    (here / "config.json").write_text(said)
    with pytest.raises(ServiceException, match=r"Cannot reach the service at http://127.0.0.1:9.*config\.json"):
        Workspace.from_config()


def test_a_job_submits_a_child_of_its_own(workspace, here):
    text = (
        "import os\nfrom azureml.core import Run, ScriptRunConfig\nrun = Run.get_context()\nos.makedirs('kid')\n"
        "open('kid/kid.py', 'w').write('print(1)')\n"
        "run.submit_child(ScriptRunConfig('kid', 'kid.py')).wait_for_completion()\n"
        "assert Run.get_context() is run\nrun.cancel()\n"
    )
    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    run = Experiment(workspace, "parents").submit(config(here, text, environment=mine))
    assert run.wait_for_completion()["status"] == "Completed"
    assert [child.get_status() for child in run.get_children()] == ["Completed"]
    assert run.get_environment().name == "mine"
    assert issubclass(SubmittedRun, Run)


def test_waiting_interrupted_leaves_the_run_alone(workspace, here):
    run = Experiment(workspace, "interrupted").submit(config(here, "import time\ntime.sleep(600)\n"))
    code = (
        "from azureml.core import Workspace\n"
        f"Workspace.get('yard').get_run({run.id!r}).wait_for_completion(show_output=True)\n"
    )
    waiting = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert waiting.stdout.readline() == f"RunId: {run.id}\n"
    waiting.send_signal(signal.SIGINT)
    assert "the run itself goes on" in waiting.communicate(timeout=30)[1]
    assert run.get_status() not in ("CancelRequested", "Canceled", "Failed")
    run.cancel()
    assert run.wait_for_completion()["status"] == "Canceled"


def test_a_reader_that_goes_away_ends_the_waiting_and_not_the_run(workspace, here):
    os.mkfifo(here / "go")
    run = Experiment(workspace, "unread").submit(config(here, f"open({str(here / 'go')!r}).read()\nprint('words')\n"))
    code = (
        "from azureml.core import Workspace\n"
        f"Workspace.get('yard').get_run({run.id!r}).wait_for_completion(show_output=True)\n"
    )
    waiting = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.stdout.readline() == f"RunId: {run.id}\n"
    waiting.stdout.close()
    (here / "go").write_text("")
    with waiting.stderr as stderr:
        assert "BrokenPipeError" in stderr.read()
    waiting.wait(timeout=30)
    assert run.wait_for_completion()["status"] == "Completed"


def test_a_snapshot_of_one_file(workspace, here):
    (here / "alone.py").write_text("print(1)\n")
    (here / "other.py").write_text("print(2)\n")
    run = Experiment(workspace, "alone").start_logging(snapshot_directory=None)
    assert run.take_snapshot("alone.py") == run.get_snapshot_id()
    assert zipfile.ZipFile(run.restore_snapshot(path="restored")).namelist() == ["alone.py"]
    run.complete()
