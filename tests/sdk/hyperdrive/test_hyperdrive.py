"""HyperDrive as users write it: configurations that are refused here, and sweeps against the real service."""

import json
import os
import warnings

import numpy as np
import pytest

from trainyard.client.retention import Retention
from trainyard.contract.retention import Deletion
from trainyard.contract.runs import RunRecord
from trainyard.contract.sweeps import Goal, SweepChild, SweepRecord, SweepSpec
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import TrainingException
from trainyard.sdk.estimators.estimator import Estimator
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.hyperdrive import sweep_table
from trainyard.sdk.hyperdrive.config import HyperDriveConfig, HyperDriveRunConfig, PrimaryMetricGoal
from trainyard.sdk.hyperdrive.errors import (
    HyperDriveConfigException,
    HyperDriveNotImplementedException,
    HyperDriveScenarioNotSupportedException,
)
from trainyard.sdk.hyperdrive.expressions import (
    choice,
    lognormal,
    loguniform,
    normal,
    qloguniform,
    quniform,
    randint,
    uniform,
)
from trainyard.sdk.hyperdrive.policy import BanditPolicy, MedianStoppingPolicy, TruncationSelectionPolicy
from trainyard.sdk.hyperdrive.run import HyperDriveRun
from trainyard.sdk.hyperdrive.sampling import (
    BayesianParameterSampling,
    GridParameterSampling,
    PopulationBasedTraining,
    RandomParameterSampling,
)
from trainyard.sdk.runs.run import Run
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

TRAIN = """\
import argparse, os
from azureml.core import Run
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--n", type=int)
parser.add_argument("--fixed")
parser.add_argument("--resume-from")
given = parser.parse_args()
run = Run.get_context()
before = sorted(os.listdir("outputs"))
for value in (given.lr, 2 * given.lr, given.lr / 2):
    run.log("score", value)
os.makedirs("outputs", exist_ok=True)
with open("outputs/told.txt", "a") as file:
    file.write(f"{given.lr} {given.resume_from} {os.environ.get('TRAINYARD_OUTPUTS_FROM')} {before}\\n")
if given.n == 3:
    raise SystemExit("three is too many")
"""
MAXIMIZE = PrimaryMetricGoal.MAXIMIZE


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


def script(tmp_path, *arguments, text=TRAIN):
    source = tmp_path / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(text)
    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    return ScriptRunConfig(str(source), "train.py", arguments=list(arguments), environment=mine)


def config(tmp_path, sampling=None, *arguments, **more):
    chosen = sampling or RandomParameterSampling({"lr": uniform(0.1, 1.0), "--n": choice(1, 2)}, {"seed": 3})
    given = {"primary_metric_goal": MAXIMIZE, "max_total_runs": 4, **more}
    if "estimator" not in given and "run_config" not in given:
        given["run_config"] = script(tmp_path, *arguments)
    return HyperDriveConfig(chosen, "score", **given)


def test_expressions_are_lists_as_in_the_sdk():
    assert choice(1, 2) == ["choice", [[1, 2]]]
    assert choice([1, 2]) == ["choice", [[1, 2]]]
    assert choice(range(3)) == ["choice", [[0, 1, 2]]]
    assert choice(np.array([0.5, 2.0])) == ["choice", [[0.5, 2.0]]]
    assert choice(np.int64(4)) == ["choice", [[4]]]
    assert choice(uniform(0, 1), 5) == ["choice", [[["uniform", [0, 1]], 5]]]
    assert loguniform(-6, -1) == ["loguniform", [-6, -1]]
    assert quniform(1, 10, 2) == ["quniform", [1, 10, 2]]
    assert randint(4) == ["randint", [4]]


def test_samplings_and_policies_say_themselves_as_json():
    sampling = RandomParameterSampling({"--lr": choice(1, 2)}, {"seed": 4})
    assert json.loads(sampling.to_json()) == {
        "name": "RANDOM",
        "parameter_space": {"--lr": ["choice", [[1, 2]]]},
        "properties": {"seed": 4},
    }
    policy = BanditPolicy(slack_factor=0.1, evaluation_interval=2)
    assert json.loads(policy.to_json()) == {
        "name": "Bandit",
        "properties": {"evaluation_interval": 2, "delay_evaluation": 0, "slack_factor": 0.1},
    }
    assert (policy.slack_factor, policy.evaluation_interval, policy.delay_evaluation) == (0.1, 2, 0)
    assert TruncationSelectionPolicy(20).truncation_percentage == 20


def refused(make, said):
    with pytest.raises(HyperDriveConfigException, match=said):
        make()


def test_what_the_sdk_refuses_is_refused(tmp_path):
    refused(lambda: GridParameterSampling({"lr": uniform(0, 1)}), "Grid sampling tries every combination")
    refused(lambda: BayesianParameterSampling({"lr": normal(0, 1)}), "takes choice, uniform and quniform")
    refused(lambda: BayesianParameterSampling({"c": choice("a", 1)}), "all text or all numbers")
    inside = choice(uniform(0, 1), 5)
    refused(lambda: BayesianParameterSampling({"c": inside}), "takes no uniform among the options of a choice")
    refused(lambda: BayesianParameterSampling({"c": choice("a", choice("b", 1))}), "all text or all numbers")
    refused(lambda: RandomParameterSampling({"lr": lognormal(0, 100)}), "overflows")
    refused(lambda: RandomParameterSampling({"lr": qloguniform(0, 800, 1)}), "overflows")
    refused(lambda: BanditPolicy(), "exactly one")
    refused(lambda: BanditPolicy(slack_factor=0.1, slack_amount=1), "exactly one")
    refused(lambda: TruncationSelectionPolicy(100), "from 1 to 99")
    bayesian = BayesianParameterSampling({"lr": uniform(0, 1)})
    refused(lambda: config(tmp_path, bayesian, policy=MedianStoppingPolicy()), "no early termination policy")
    refused(lambda: config(tmp_path, run_config=None), "exactly one of estimator and run_config")
    refused(lambda: config(tmp_path, max_concurrent_runs=0), "max_concurrent_runs is 0")
    refused(lambda: config(tmp_path, primary_metric_goal="best"), "Use PrimaryMetricGoal.MAXIMIZE")
    refused(lambda: config(tmp_path, {"lr": uniform(0, 1)}), "hyperparameter_sampling is a dict")
    refused(lambda: config(tmp_path, resume_from="HD_1"), "resume_from has a str")
    refused(lambda: RandomParameterSampling({"lr": uniform(0, 1), "--lr": uniform(0, 1)}), "same option name")
    with pytest.raises(HyperDriveScenarioNotSupportedException, match="no pipelines"):
        config(tmp_path, pipeline=object())


def test_empty_lists_to_resume_from_are_legal(tmp_path):
    made = config(tmp_path, resume_from=[], resume_child_runs=[])
    assert (made._resume_from, made._resume_child_runs) == ((), ())


def test_a_sweep_to_resume_from_counts_once(tmp_path):
    run = HyperDriveRun.__new__(HyperDriveRun)
    run._run_id = "HD_1"
    assert config(tmp_path, resume_from=[run, run])._resume_from == ("HD_1",)


def test_without_max_concurrent_runs_as_many_run_as_there_is_room_for(workspace, tmp_path):
    run = Experiment(workspace, "sweeps").submit(config(tmp_path, max_total_runs=50))
    assert "warnings" not in run.get_details()
    run.cancel()
    run.wait_for_completion()


def test_a_sweep_from_submit_to_its_best_run(workspace, tmp_path, capsys):
    """Without its own sleep the whole thing is over in a second."""
    submitted = Experiment(workspace, "sweeps").submit(config(tmp_path, None, "--fixed", "x"), tags={"stage": "try"})
    assert (type(submitted), submitted.type) == (HyperDriveRun, "hyperdrive")
    details = submitted.wait_for_completion(show_output=True)
    printed = capsys.readouterr().out
    assert "\nStreaming azureml-logs/hyperdrive.txt\n" + "=" * 37 + "\n" in printed
    assert "Completed: 4 of 4 runs over, 0 running, best score" in printed
    assert details["status"] == submitted.get_status() == "Completed"
    assert details["properties"]["azureml.runsource"] == "hyperdrive"
    assert "azureml-logs/hyperdrive.txt" in details["logFiles"]

    samples = {run_id: json.loads(said) for run_id, said in submitted.get_hyperparameters().items()}
    assert len(samples) == 4
    assert set(samples) == {f"{submitted.id}_{index}" for index in range(4)}
    best = submitted.get_best_run_by_primary_metric()
    leading = max(samples, key=lambda run_id: samples[run_id]["lr"])
    assert best.id == leading  # twice its lr was logged in the middle, and half of it at the end
    sample = samples[leading]
    assert best.get_details()["runDefinition"]["arguments"] == [
        *("--fixed", "x", "--lr", str(sample["lr"]), "--n", str(sample["--n"])),
    ]
    assert json.loads(best.tags["hyperparameters"]) == sample
    assert best.get_metrics() == {"score": [sample["lr"], 2 * sample["lr"], sample["lr"] / 2]}
    assert submitted.get_metrics()[leading] == best.get_metrics()

    ranked = submitted.get_children_sorted_by_primary_metric()
    assert [each["best_primary_metric"] for each in ranked] == sorted(
        (2 * each["lr"] for each in samples.values()), reverse=True
    )
    assert submitted.get_children_sorted_by_primary_metric(top=1)[0]["run_id"] == leading
    assert submitted.get_children_sorted_by_primary_metric(reverse=True)[-1]["run_id"] == leading

    again = Run.get(workspace, submitted.id)
    assert type(again) is HyperDriveRun
    assert again.hyperdrive_config._max_total_runs == 4
    assert {child.id for child in again.get_children()} == set(samples)
    with pytest.raises(HyperDriveNotImplementedException):
        again.fail()
    with pytest.raises(TrainingException, match="Completed already"):
        again.cancel()


def test_an_estimators_fixed_argument_gives_way_and_the_names_of_2018_work(workspace, tmp_path):
    source = script(tmp_path)
    estimator = Estimator(
        source.source_directory,
        compute_target="local",
        entry_script="train.py",
        script_params={"--lr": 5, "--fixed": "x"},
        user_managed=True,
    )
    old = HyperDriveRunConfig(
        estimator, RandomParameterSampling({"lr": choice(0.5), "n": choice(1)}), "score", MAXIMIZE, 1
    )
    run = Experiment(workspace, "sweeps").submit(old)
    assert run.wait_for_completion()["status"] == "Completed"
    (child,) = run.get_children()
    assert child.get_details()["runDefinition"]["arguments"] == ["--fixed", "x", "--lr", "0.5", "--n", "1"]


def told_by(run):
    return run._content_of(run.id, "outputs/told.txt").decode().splitlines()


def test_a_population_hands_its_outputs_on_and_a_resumed_run_finds_its_own(workspace, tmp_path):
    sampling = PopulationBasedTraining({"lr": uniform(0.1, 1), "n": choice(1, 2)}, population_size=2, seed=1)
    run = Experiment(workspace, "sweeps").submit(config(tmp_path, sampling))
    assert run.wait_for_completion()["status"] == "Completed"
    told = {child.id: told_by(child) for child in run.get_children()}
    first = max(f"{run.id}_0", f"{run.id}_1", key=lambda run_id: float(told[run_id][0].split()[0]))
    for index in (2, 3):
        before, own = told[f"{run.id}_{index}"]
        assert before == told[first][0]
        assert own.split()[2:] == [first, "['told.txt']"]

    chosen = Run.get(workspace, f"{run.id}_0")
    more = config(
        tmp_path, RandomParameterSampling({"lr": uniform(0, 1), "n": choice(1, 2)}), resume_child_runs=[chosen]
    )
    resumed = Experiment(workspace, "sweeps").submit(more)
    assert resumed.wait_for_completion()["status"] == "Completed"
    lines = told_by(Run.get(workspace, f"{resumed.id}_0"))
    assert lines[0] == told[chosen.id][0]
    assert lines[1].split() == [lines[0].split()[0], "outputs", chosen.id, "['told.txt']"]


def test_an_earlier_sweep_competes_and_another_goal_is_refused(workspace, tmp_path):
    good = RandomParameterSampling({"lr": choice(0.9), "n": choice(1)})
    first = Experiment(workspace, "sweeps").submit(config(tmp_path, good, max_total_runs=1))
    first.wait_for_completion()
    bad = RandomParameterSampling({"lr": choice(0.2), "n": choice(3)})  # its runs fail after they have logged
    second = Experiment(workspace, "sweeps").submit(config(tmp_path, bad, max_total_runs=1, resume_from=first))
    assert second.wait_for_completion(raise_on_error=False)["status"] == "Failed"
    assert second.get_best_run_by_primary_metric().id == f"{first.id}_0"
    alone = second.get_best_run_by_primary_metric(include_resume_from_runs=False)
    assert alone.id == f"{second.id}_0"
    assert second.get_best_run_by_primary_metric(include_failed=False, include_resume_from_runs=False) is None
    other = config(tmp_path, good, resume_from=[first], primary_metric_goal=PrimaryMetricGoal.MINIMIZE)
    with pytest.raises(HyperDriveConfigException, match="give both the same primary_metric_name"):
        Experiment(workspace, "sweeps").submit(other)
    Retention(workspace._connection.http, workspace._workspace_id_internal).delete(Deletion((first.id,), dry_run=False))
    assert second.get_best_run_by_primary_metric().id == f"{second.id}_0"


def test_a_canceled_sweep_takes_its_children_along(workspace, tmp_path):
    waiting = config(tmp_path, None, max_concurrent_runs=2)
    (tmp_path / "source" / "train.py").write_text("import time\ntime.sleep(600)\n")
    run = Experiment(workspace, "sweeps").submit(waiting)
    assert run.cancel() is True
    assert run.wait_for_completion()["status"] == "Canceled"
    assert {child.get_status() for child in run.get_children()} <= {"Canceled"}
    assert run.get_best_run_by_primary_metric() is None


def test_what_is_given_to_submit_and_means_nothing_is_said(workspace, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = Experiment(workspace, "sweeps").submit(config(tmp_path, max_total_runs=1, debug_flag="x"), nonsense=1)
    said = [str(each.message) for each in caught]
    assert any("debug_flag has no effect" in each for each in said)
    assert any("nonsense has no effect" in each for each in said)
    run.wait_for_completion()


def test_the_table_shows_those_that_run_and_then_the_best():
    spec = SweepSpec({"lr": ["uniform", [0, 1]]}, "loss", Goal.MINIMIZE, 4, 2, None)
    children = (
        SweepChild(0, "HD_0", "Completed", {"lr": 0.5}, 0.25, 0.3, 7, 1_000_000_000, 3_500_000_000),
        SweepChild(1, "HD_1", "Canceled", {"lr": 0.25}, 0.75, 0.75, 2, 1_000_000_000, 2_000_000_000, "too bad"),
        SweepChild(2, "HD_2", "Running", {"lr": 1 / 3}, None, None, 0, 2_000_000_000),
        SweepChild(3, "HD_3", "Failed", {"lr": 0.1}),
    )
    sweep = SweepRecord("HD", "e", _state("Running"), "", spec, 5, tuple(map(_with_state, children)))
    assert sweep_table.render(sweep, 100, now_ns=4_000_000_000) == [
        "Running: 3 of 5 runs over (1 stopped early), 1 running, best loss 0.25 (#0)",
        "run  status     best    last  reports  time   lr",
        "#2   Running                  0        2.0 s  0.333333",
        "#0   Completed  0.25 *  0.3   7        2.5 s  0.5",
        "#1   Stopped    0.75    0.75  2        1.0 s  0.25",
        "#3   Failed                   0               0.1",
    ]
    assert sweep_table.render(sweep, 20, most=1, now_ns=0)[-1] == "… and 3 more"
    assert sweep_table.render(sweep, 45, most=2, now_ns=4_000_000_000) == [
        "Running: 3 of 5 runs over (1 stopped early),",
        "1 running, best loss 0.25 (#0)",
        "run  status     best    time   lr",
        "#2   Running            2.0 s  0.333333",
        "#0   Completed  0.25 *  2.5 s  0.5",
        "… and 2 more",
    ]


def test_a_terminal_without_the_characters_gets_others_in_the_table():
    spec = SweepSpec({"kind": ["choice", ["\u2588"]]}, "loss", Goal.MINIMIZE, 1, 1, None)
    child = SweepChild(0, "HD_0", _state("Completed"), {"kind": "\u2588"}, 0.25, 0.25, 1, 1_000_000_000, 2_000_000_000)
    sweep = SweepRecord("HD", "e", _state("Completed"), "", spec, 1, (child,))
    parent = RunRecord("HD", "w", "e", 1, _state("Completed"), "", 1, 1, "me", 0, warnings=("\u2026 mind",))
    ours, theirs = os.openpty()
    with open(ours, "rb", buffering=0) as shown, open(theirs, "w", encoding="ascii") as out:
        assert sweep_table.follow(lambda: sweep, lambda: parent, out) is parent
        lines = shown.read(4096).decode("ascii").splitlines()
    assert lines[0] == "? mind"
    assert lines[-1].split() == ["#0", "Completed", "0.25", "*", "0.25", "1", "1.0", "s", "?"]


def _state(name):
    from trainyard.contract.states import RunState

    return RunState(name)


def _with_state(child):
    from dataclasses import replace

    return replace(child, state=_state(child.state))
