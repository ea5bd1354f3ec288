"""`trainyard sweep`: how a space is written in a shell, and one sweep against a real service."""

import json
import os
import subprocess
import sys

import pytest

from trainyard.cli.sweep_words import parameter, policy, space_of
from trainyard.contract.errors import InvalidRequest


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("lr=loguniform(-6,-1)", ("lr", ["loguniform", [-6, -1]])),
        ("--lr = uniform(0, 1e-2)", ("--lr", ["uniform", [0, 0.01]])),
        ("batch=16,32,64", ("batch", ["choice", [[16, 32, 64]]])),
        ("kernel=linear,rbf", ("kernel", ["choice", [["linear", "rbf"]]])),
        ("k=choice('a', 2)", ("k", ["choice", [["a", 2]]])),
        ("k=choice([1, 2])", ("k", ["choice", [[1, 2]]])),
        ("k=choice(uniform(0,1), 5)", ("k", ["choice", [[["uniform", [0, 1]], 5]]])),
    ],
)
def test_a_parameter_as_it_is_written_in_a_shell(said, meant):
    assert parameter(said) == meant


@pytest.mark.parametrize(
    "said", ["lr", "lr=", "=1", "lr=loguniform(-6", "lr=exec(1)", "lr=uniform(a=1)", "lr=uniform(x)", "lr=1,2,"]
)
def test_what_does_not_read_is_refused(said):
    with pytest.raises(InvalidRequest, match="--param"):
        parameter(said)


def test_a_parameter_that_is_given_twice_is_refused():
    assert space_of(["lr=1,2", "n=3"]) == {"lr": ["choice", [[1, 2]]], "n": ["choice", [[3]]]}
    for second in ("lr=3,4", "--lr=3,4"):
        with pytest.raises(InvalidRequest, match="is given twice"):
            space_of(["lr=1,2", second])


def test_policies_as_they_are_written_in_a_shell():
    assert policy("bandit(slack_factor=0.1)") == ("BanditPolicy", [], {"slack_factor": 0.1})
    assert policy("Median") == ("MedianStoppingPolicy", [], {})
    assert policy("truncation(20)") == ("TruncationSelectionPolicy", [20], {})
    with pytest.raises(InvalidRequest, match="is no policy"):
        policy("never")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """Variables of a home of this module's own; its service ends with the module."""
    variables = {**os.environ, "TRAINYARD_HOME": str(tmp_path_factory.mktemp("home")), "COLUMNS": "200"}
    variables.pop("TRAINYARD_ENDPOINT", None)
    yield variables
    command = [sys.executable, "-m", "trainyard.cli.main", "stop", "--all"]
    subprocess.run(command, env=variables, check=True, timeout=60)


def trainyard(scratch, here, *arguments):
    command = [sys.executable, "-m", "trainyard.cli.main", *arguments]
    return subprocess.run(command, env=scratch, cwd=here, capture_output=True, text=True, timeout=100)


def test_a_sweep_prints_the_command_that_runs_the_best_again(scratch, tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "train.py").write_text(
        "import sys\nfrom azureml.core import Run\nprint(sys.argv)\n"
        "Run.get_context().log('loss', (float(sys.argv[sys.argv.index('--lr') + 1]) - 3) ** 2)\n"
    )
    asked = ("job/train.py", "-p", "lr=1,2,3,4", "--sampling", "grid", "--minimize", "loss", "--env-var", "A=b")
    asked += ("--", "--note", "a b")
    done = trainyard(scratch, tmp_path, "sweep", *asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "trainyard run job/train.py --env-var A=b -- --note 'a b' --lr 3\n"
    assert "#2    Completed  loss 0   best so far" in done.stderr
    assert "4 of 4 runs over" in done.stderr
    [sweep] = json.loads(trainyard(scratch, tmp_path, "runs", "list", "--json").stdout)
    again = trainyard(scratch, tmp_path, "sweep", sweep["run_id"])
    assert again.stdout == "trainyard run train.py -- --note 'a b' --lr 3\n"
    told = trainyard(scratch, tmp_path, "sweep", sweep["run_id"], "--json")
    said = json.loads(told.stdout)
    assert [said["run_id"], said["status"], said["metric"]] == [sweep["run_id"], "Completed", "loss"]
    assert len(said["runs"]) == 4
    best = {"parameters": {"lr": 3}, "best": 0.0, "last": 0.0, "reports": 1, "stopped": None, "status": "Completed"}
    assert said["best"] == {"run_id": f"{sweep['run_id']}_2", **best}
    assert said["command"] == again.stdout.strip()
    log = trainyard(scratch, tmp_path, "runs", "logs", "latest").stdout
    assert log.count("started") == 4

    nobody = trainyard(
        scratch, tmp_path, "sweep", "job/train.py", "-p", "lr=1,2", "--minimize", "los", "--max-runs", "1"
    )
    assert nobody.returncode == 1
    assert "Did you mean 'loss'?" in nobody.stderr
    assert "No run has logged 'los', so there is no best one." in nobody.stderr
    for asked, said in (
        (
            ("-p", "lr=uniform(0,1)", "--sampling", "grid", "--minimize", "loss"),
            "Grid sampling tries every combination",
        ),
        (("-p", "lr=1,2"), "Give --minimize METRIC or --maximize METRIC"),
        (("--minimize", "loss"), "Nothing to search"),
        (("-p", "lr=1,2", "--minimize", "loss", "--stop", "bandit(foo=1)"), "unexpected keyword argument 'foo'"),
        (("-p", "lr=1,2", "--minimize", "loss", "--stop", "hyperband"), "Write it as hyperband(max_intervals=81)."),
        (("-p", "lr=1,2", "--minimize", "loss", "--stop", "bandit"), "Write it as bandit(slack_factor=0.1)."),
    ):
        refused = trainyard(scratch, tmp_path, "sweep", "job/train.py", *asked)
        assert refused.returncode == 1
        assert said in refused.stderr
