"""Search, comparison, charts and the live table, against a real service in a scratch home."""

import json
import os
import subprocess
import sys

import pytest

TRAIN = """
import argparse
from azureml.core import Run
given = argparse.ArgumentParser()
given.add_argument("--lr", type=float)
given = given.parse_args()
run = Run.get_context()
for step in range(5):
    run.log("loss", given.lr / (step + 1))
run.tag("team", "vision")
run.log_row("summary", lr=given.lr, how="sgd")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """With two runs of scripts that differ in a line and an argument."""
    folder = tmp_path_factory.mktemp("glance")
    variables = {**os.environ, "TRAINYARD_HOME": str(folder / "home"), "COLUMNS": "160"}
    variables.pop("TRAINYARD_ENDPOINT", None)

    def trainyard(*arguments, **more):
        command = [sys.executable, "-m", "trainyard.cli.main", *arguments]
        return subprocess.run(command, env=variables | more, cwd=folder, capture_output=True, text=True, timeout=60)

    for rate, more in (("0.5", ""), ("0.1", "print('more')\n")):
        (folder / "job").mkdir(exist_ok=True)
        (folder / "job" / "train.py").write_text(TRAIN + more)
        assert trainyard("run", "job/train.py", "--", "--lr", rate).returncode == 0
    yield trainyard
    trainyard("stop", "--all")


def found(home, *arguments):
    done = home("runs", "search", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_runs_are_found(home):
    [run] = found(home, 'metrics.loss < 0.05 and tags.team = "vision"')["runs"]
    assert run["params"] == {"lr": "0.1"}
    assert run["metrics"]["loss"] == {"last": 0.02, "min": 0.02, "max": 0.1, "count": 5}
    ordered = found(home, "-o", "metrics.loss desc", "-n", "1")
    assert ordered["runs"][0]["params"] == {"lr": "0.5"}
    [rest] = found(home, "-o", "metrics.loss desc", "--page", ordered["next"])["runs"]
    assert rest["params"] == {"lr": "0.1"}
    table = home("runs", "search", "-m", "loss").stdout.splitlines()
    assert table[0].split() == ["run", "status", "lr", "loss", "created"]  # none has a name


def test_a_query_that_does_not_read_ends_with_a_sentence(home):
    done = home("runs", "search", "metrics.loss <")
    assert done.returncode == 1
    assert done.stderr.startswith("The query does not read at its end: a value is expected")


def test_two_runs_are_compared(home):
    newer, older = [run["run_id"] for run in found(home)["runs"]]
    result = json.loads(home("runs", "compare", older, newer, "--json").stdout)
    assert result["params"] == {"lr": ["0.5", "0.1"]}
    assert [each["last"] for each in result["metrics"]["loss"]] == [0.1, 0.02]
    assert result["code"][2:][-1] == "+print('more')"
    text = home("runs", "compare", older, newer).stdout
    assert "0.1 (0.1 … 0.5)" in text
    assert "+print('more')" in text
    assert home("runs", "compare", newer).stderr.startswith("Two runs at least")


def test_a_metric_is_drawn(home):
    text = home("runs", "plot", "latest", "--height", "5", "--width", "40").stdout.splitlines()
    assert len(text) == 7
    assert text[0].startswith("       0.1 ┤⠑⢄⡀")
    assert text[-1].endswith("5 values")
    [line] = json.loads(home("runs", "plot", "latest", "-m", "loss", "--json").stdout)
    assert line["x"] == [0, 1, 2, 3, 4]
    assert "no metric 'acc'" in home("runs", "plot", "latest", "-m", "acc").stderr


def test_the_live_table_once(home):
    text = home("runs", "top", "status = Completed", "-m", "loss", "--once").stdout.splitlines()
    assert text[0].split() == ["run", "status", "lr", "loss", "runs", "for"]
    assert len(text) == 3
    assert "No run fits." in home("runs", "top", "status = Failed", "--once").stdout


def test_the_live_table_has_a_line_for_each_run_however_narrow_it_is(home):
    narrow = {"COLUMNS": "40"}
    text = home("runs", "top", "status = Completed", "-m", "loss", "--once", **narrow).stdout.splitlines()
    assert text[0].split() == ["run", "status", "loss", "runs", "for"]
    assert [line.split()[1:3] for line in text[1:3]] == [["Completed", "0.02"], ["Completed", "0.1"]]
    assert text[3].strip() == "No room for lr."
    ends = [run["run_id"][-8:] for run in found(home)["runs"]]
    assert [line.split()[0] for line in text[1:3]] == [f"…{end}" for end in ends]


def test_a_run_is_shown_with_what_its_metrics_were_between(home):
    [loss] = [line.split() for line in home("runs", "show", "latest").stdout.splitlines() if line.startswith("loss ")]
    assert loss == ["loss", "5", "0.02", "0.02", "0.1"]


def test_a_metric_that_no_run_has_is_said(home):
    done = home("runs", "search", "-m", "loss", "-m", "lost")
    assert "None of these runs logged lost." in done.stdout + done.stderr


def test_rows_are_shown_as_their_cells(home):
    shown = home("runs", "show", "latest").stdout
    assert ["summary", "1", "lr=0.1", "how=sgd"] in [line.split() for line in shown.splitlines()]
    one, other = (run["run_id"] for run in found(home, "-o", "params.lr desc")["runs"])
    lines = [line.split() for line in home("runs", "compare", one, other).stdout.splitlines()]
    assert ["summary", "lr=0.5", "how=sgd", "lr=0.1", "how=sgd"] in lines
