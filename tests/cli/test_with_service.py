"""The commands against a real service in a scratch home."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def here(scratch, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINYARD_HOME", scratch["TRAINYARD_HOME"])
    monkeypatch.delenv("TRAINYARD_ENDPOINT", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trainyard(*arguments):
    """The program as a shell runs it."""
    command = [sys.executable, "-m", "trainyard.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def said(*arguments):
    """What a command that must work printed."""
    done = trainyard(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(here, text):
    (here / "job").mkdir()
    (here / "job" / "train.py").write_text(text)
    return "job/train.py"


def test_a_workspace_of_that_name_is_used_with_the_option_that_the_refusal_names():
    done = trainyard("workspace", "create", "default")
    assert done.returncode != 0
    assert "`trainyard workspace create --exist-ok`" in done.stderr
    assert said("workspace", "create", "default", "--exist-ok").startswith("Workspace default is there.")


def test_a_size_is_refused_as_it_was_written():
    done = trainyard("compute", "create", "odd", "--vm-size", "nope")
    assert done.returncode != 0
    assert "vm_size 'nope' is not a size" in done.stderr


def test_several_processes_are_shown_together_or_one_by_one(here):
    script = write(here, "import os; print('rank', os.environ['RANK'])")
    done = trainyard("run", "--torch", "2", script)
    assert done.returncode == 0, done.stderr
    assert {"[0] rank 0", "[1] rank 1"} <= set(done.stdout.splitlines())
    assert said("runs", "logs", "latest") == "[0] rank 0\n[1] rank 1\n"
    assert said("runs", "logs", "latest", "--rank", "1") == "rank 1\n"
    assert said("runs", "logs", "latest", "--follow", "--rank", "0") == "rank 0\n"
    assert "count from 0 to 1" in trainyard("runs", "logs", "latest", "--rank", "2").stderr
    assert "go with --torch" in trainyard("run", "--max-restarts", "1", script).stderr


def test_a_script_runs_and_its_output_is_ours(here):
    script = write(here, "import os, sys\nprint('one', sys.argv[1:], os.environ['SEED'])\nprint('two')\n")
    shown = said("run", script, "--env-var", "SEED=7", "--name", "first try", "--", "--epochs", "3")
    assert shown == "one ['--epochs', '3'] 7\ntwo\n"

    [newest] = json.loads(said("runs", "list", "--limit", "1", "--json"))
    assert newest["status"] == "Completed"
    assert newest["duration_s"] > 0  # however short it was
    assert newest["experiment"] == "train"
    assert newest["display_name"] == "first try"
    assert set(newest) == {
        *("run_id", "experiment", "number", "display_name", "status", "reason", "attempt", "target", "nodes"),
        *("parent_run_id", "created_by", "created", "started", "ended", "duration_s", "error", "tags"),
    }
    assert said("runs", "logs", newest["run_id"]) == shown
    assert newest["run_id"] in said("runs", "list")


def test_what_a_run_left_behind_is_shown(here):
    script = write(
        here,
        "import os\nfrom azureml.core import Run\nrun = Run.get_context()\n"
        "print('trained')\nrun.log('loss', 0.5)\nrun.log('loss', 0.25)\n"
        "os.makedirs('outputs', exist_ok=True)\nopen('outputs/model.txt', 'w').write('weights')\n",
    )
    said("run", script)
    assert (
        said("runs", "logs", "latest") == said("runs", "logs", "latest", "-f") == "trained\n"
    )  # the script's, not ours
    assert "Collected 1 file, 7 bytes." in said(
        "runs", "logs", "latest", "--name", "azureml-logs/75_job_post-node-0.txt"
    )
    shown = json.loads(said("runs", "show", "latest", "--json"))
    assert shown["script"] == "train.py"
    assert shown["metrics"] == {"loss": [0.5, 0.25]}
    assert {"name": "outputs/model.txt", "size": 7} in shown["files"]
    assert [event["status"] for event in shown["history"]][-2:] == ["Finalizing", "Completed"]
    text = said("runs", "show", "latest")
    assert "outputs/model.txt" in text
    assert "0.25" in text


def test_the_way_from_data_to_run_to_model_is_shown(here):
    """As a notebook would make them: the service is the one of the command line."""
    script = write(
        here,
        "import os\nfrom azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace\n"
        "from azureml.data import OutputFileDatasetConfig\n"
        "ws = Workspace.create('lineage', exist_ok=True, show_output=False)\n"
        "os.makedirs('digits'), os.makedirs('source')\n"
        "open('digits/a.txt', 'w').write('abc'), open('digits/b.txt', 'w').write('de')\n"
        "open('source/go.py', 'w').write('import sys; open(sys.argv[2] + \"/x\", \"w\").write(\"x\")')\n"
        "store = ws.get_default_datastore()\n"
        "store.upload('digits', 'digits', show_progress=False)\n"
        "data = Dataset.File.from_files((store, 'digits')).register(ws, 'digits')\n"
        "out = OutputFileDatasetConfig('clean', (store, 'clean')).register_on_complete('cleaned')\n"
        "mine = Environment('mine'); mine.python.user_managed_dependencies = True\n"
        "given = [data.as_named_input('x').as_mount(), out]\n"
        "run = Experiment(ws, 'e').submit(ScriptRunConfig('source', 'go.py', given, environment=mine))\n"
        "run.wait_for_completion()\n"
        "run.upload_file('outputs/m', 'digits/a.txt')\n"
        "run.register_model('made', 'outputs/m')\nprint(run.id)\n",
    )
    done = subprocess.run([sys.executable, script], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    shown = json.loads(said("runs", "show", run_id, "--json"))
    read, left = sorted(shown["data"], key=lambda it: it["output"])
    assert (read["name"], read["dataset"], read["version"], read["files"], read["bytes"]) == ("x", "digits", 1, 2, 5)
    assert (read["sources"], len(read["digest"])) == (["workspaceblobstore/digits"], 64)
    assert (left["name"], left["dataset"], left["version"], left["mode"]) == ("clean", "cleaned", 1, "mount")
    assert shown["models"] == ["made:1"]
    text = said("runs", "show", run_id)
    assert "digits:1" in text
    assert "cleaned:1" in text
    assert "made:1" in text


@pytest.mark.parametrize(
    ("last_line", "exit_code", "said"),
    [("raise SystemExit(3)", 3, "exit code 3"), ("import os; os.kill(os.getpid(), 9)", 137, "killed by SIGKILL")],
)
def test_a_script_that_fails_ends_the_command_as_a_shell_would(last_line, exit_code, said, here):
    done = trainyard("run", write(here, f"print('before', flush=True)\n{last_line}\n"))
    assert done.returncode == exit_code
    assert done.stdout == "before\n"
    assert "Failed" in done.stderr
    assert said in done.stderr


def test_a_detached_run_can_be_canceled(here):
    run_id = said("run", write(here, "import time\ntime.sleep(600)\n"), "--detach").strip()
    assert said("runs", "cancel", run_id, "--wait") == f"{run_id} Canceled\n"
    assert said("runs", "cancel", run_id) == f"{run_id} Canceled\n"


def test_stop_is_refused_while_a_run_is_active(here):
    run_id = said("run", write(here, "import time\ntime.sleep(600)\n"), "--detach").strip()
    refused = trainyard("stop")
    assert refused.returncode == 1
    assert "1 run is active" in refused.stderr
    assert "trainyard stop --all" in refused.stderr
    said("runs", "cancel", run_id, "--wait")


def test_ctrl_c_leaves_the_run_alone_and_says_how_to_go_on(here):
    script = write(here, "import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "trainyard.cli.main", "run", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        _, words = process.communicate()
    assert process.returncode == 130
    assert "The run goes on." in words
    assert "Traceback" not in words
    [newest] = json.loads(said("runs", "list", "--limit", "1", "--json"))
    assert newest["status"] == "Running"
    said("runs", "cancel", newest["run_id"], "--wait")


def test_a_target_is_made_shown_used_and_deleted(here):
    assert "cpu-cluster" in said("compute", "create", "cpu-cluster", "--max-nodes", "2")
    [listed] = json.loads(said("compute", "list", "--json"))
    assert (listed["name"], listed["max_nodes"], listed["priority"]) == ("cpu-cluster", 2, "dedicated")
    said("run", write(here, "print('hello')\n"), "--target", "cpu-cluster")
    assert json.loads(said("compute", "show", "cpu-cluster", "--json"))["vm_size"] == "STANDARD_D2_V2"
    assert "gone" in said("compute", "delete", "cpu-cluster")
    assert json.loads(said("compute", "list", "--json")) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["runs", "show", "nobody"], "No run 'nobody' in any workspace."),
        (["compute", "show", "nowhere"], "Compute Target with name nowhere not found"),
        (["runs", "list", "--workspace", "missing"], "No workspace named 'missing'"),
        (["run", "job/train.py", "--target", "nowhere"], "nowhere"),
        (["run", "job/train.py", "--env-var", "novalue"], "KEY=VALUE"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(arguments, sentence, here):
    write(here, "")
    done = trainyard(*arguments)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_config_file_chooses_the_workspace(here):
    config = {"subscription_id": "s", "resource_group": "g", "workspace_name": "chosen"}
    (here / "config.json").write_text(json.dumps(config))
    assert said("run", write(here, "print('in chosen')\n")) == "in chosen\n"
    assert len(json.loads(said("runs", "list", "--json"))) == 1
    assert "chosen" in [workspace["name"] for workspace in json.loads(said("workspace", "list", "--json"))]


def test_a_config_file_that_is_not_json_is_named(here):
    (here / "config.json").write_text("{oops")
    done = trainyard("runs", "list")
    assert done.returncode == 1
    assert "config.json" in done.stderr


def test_status_and_doctor_see_the_service(here):
    said("workspace", "create", "extra", "--exist-ok")
    shown = json.loads(said("status", "--json"))
    assert shown["running"] is True
    assert shown["home"] == os.environ["TRAINYARD_HOME"]
    assert shown["pid"] > 0
    checks = {line["check"]: line["level"] for line in json.loads(said("doctor", "--json"))}
    assert checks["answers"] == "ok"
    assert checks["token"] == "ok"


def test_an_output_that_cannot_be_written_ends_the_reader(here):
    said("run", write(here, "print('words')\n"))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "trainyard.cli.main", "runs", "logs", "latest", "-f"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr


def test_an_id_finds_its_run_in_whichever_workspace(here):
    said("run", write(here, "print('words')\n"))
    [newest] = json.loads(said("runs", "list", "--limit", "1", "--json"))
    said("workspace", "create", "elsewhere")
    (here / "config.json").write_text('{"subscription_id": "", "resource_group": "", "workspace_name": "elsewhere"}')
    assert said("runs", "logs", newest["run_id"]) == "words\n"
    assert trainyard("runs", "show", "nobody").stderr == (
        "No run 'nobody' in any workspace. See `trainyard runs list`.\n"
    )


def test_a_service_in_the_foreground_says_where_it_is(tmp_path):
    home = str(tmp_path / "h")
    command = [sys.executable, "-m", "trainyard.cli.main", "server"]
    environment = {**os.environ, "TRAINYARD_HOME": home}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as service:
        said = [service.stderr.readline(), service.stderr.readline()]
        with open(os.path.join(home, "server.json"), encoding="utf-8") as file:
            url = json.load(file)["url"]
        taken = {**environment, "TRAINYARD_HOME": str(tmp_path / "h2")}
        second = subprocess.run([*command, "--port", url.rsplit(":")[-1]], env=taken, stderr=subprocess.PIPE, text=True)
        service.terminate()
        service.stderr.read()
    assert said[1].endswith(f"serves {home} at {url}\n")
    assert second.returncode == 1
    assert "cannot be listened on: Address already in use. Choose another with --port" in second.stderr
    assert "Traceback" not in second.stderr


def test_status_looks_where_config_json_says(here):
    said("workspace", "list")
    url = json.loads(said("status", "--json"))["url"]
    token = (Path(os.environ["TRAINYARD_HOME"]) / "token").read_text()
    (here / "config.json").write_text(
        json.dumps({"subscription_id": "", "resource_group": "", "workspace_name": "any", "endpoint": url})
    )
    command = [sys.executable, "-m", "trainyard.cli.main", "status", "--json"]
    environment = {**os.environ, "TRAINYARD_HOME": str(here / "empty"), "TRAINYARD_TOKEN": token}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["url"] == url


def test_mpi_from_the_shell(here):
    script = write(
        here, "import os\nprint('rank', os.environ['OMPI_COMM_WORLD_RANK'], os.environ['OMPI_COMM_WORLD_SIZE'])\n"
    )
    assert said("run", "--nodes", "2", "--mpi", "2", script).count(" 4\n") == 4


def test_torch_and_tensorflow_from_the_shell(here):
    script = write(here, "import os\nprint(os.environ.get('RANK'), 'TF_CONFIG' in os.environ)\n")
    assert {"[0] 0 False", "[1] 1 False"} <= set(said("run", "--torch", "2", script).splitlines())
    found = said("run", "--nodes", "2", "--workers", "2", script).splitlines()
    assert {"[0] None True", "[1] None True"} <= set(found)


def test_two_ways_at_once_are_refused(here):
    script = write(here, "")
    done = trainyard("run", "--mpi", "2", "--torch", "2", script)
    assert done.returncode != 0
    assert "--mpi and --torch are different ways" in done.stderr
