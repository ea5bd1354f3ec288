"""A sweep from its first child to its end, and what may happen on the way."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import text

from trainyard.contract.states import RunState
from trainyard.server.sweeps import conduct


def test_a_sweep_starts_as_many_as_were_asked_for_and_ends(yard) -> None:
    assert yard.create().json["state"] == "Running"
    yard.look()
    assert yard.states() == ["NotStarted", "NotStarted"]
    child = yard.run("HD_1_0")
    (lr,) = json.loads(child["tags"]["hyperparameters"]).values()
    assert child["spec"]["arguments"] == ["--fixed", "1", "--lr", str(lr)]
    assert child["spec"]["definition"]["arguments"] == child["spec"]["arguments"]
    assert child["parent_run_id"] == "HD_1"
    yard.look()
    assert len(yard.states()) == 2  # no room for more
    yard.ends(0, 0.1, 0.9, 0.2)
    yard.ends(1, 0.5)
    yard.look()
    assert yard.states() == ["Completed", "Completed", "NotStarted", "NotStarted"]
    yard.ends(2, 0.3)
    yard.ends(3, 0.4)
    yard.look()
    parent = yard.run()
    assert (parent["state"], len(yard.states())) == ("Completed", 4)
    assert parent["properties"]["score"] == "0.9"
    assert parent["properties"]["best_child_run_id"] == "HD_1_0"
    best = yard.sweep()["children"][0]
    assert (best["best"], best["last"], best["reports"]) == (0.9, 0.2, 3)
    assert yard.look() is None
    assert "#0    Completed  acc 0.9   best so far" in yard.log()
    assert yard.log().count("started") == 4


def test_cancel_takes_the_children_along_and_the_sweep_ends_after_them(yard) -> None:
    yard.create()
    yard.look()
    yard.starts(0)
    yard.call("POST", f"{yard.url}/runs/HD_1/cancel")
    assert yard.run()["state"] == "CancelRequested"
    yard.look()
    assert yard.states() == ["Canceled", "Canceled"]  # none of them had been placed
    yard.look()
    assert yard.run()["state"] == "Canceled"
    assert len(yard.states()) == 2


def test_a_child_that_slipped_in_while_the_sweep_was_canceled_is_canceled_too(yard) -> None:
    yard.create()
    yard.call("POST", f"{yard.url}/runs/HD_1/complete")
    yard.look()
    assert yard.run()["state"] == "Completed"
    assert yard.states() == []
    yard.create("HD_2")
    yard.look()
    yard.call("POST", f"{yard.url}/runs/HD_2/complete")
    yard.look()
    assert yard.states("HD_2") == ["Canceled", "Canceled"]
    yard.look()
    assert yard.look() is None


def test_a_policy_stops_children_and_the_sweep_still_completes(yard) -> None:
    yard.create(policy="Bandit", policy_properties={"slack_factor": 0.1}, max_total_runs=2)
    yard.look()
    yard.starts(0, 1)
    yard.logs(0, 0.9)
    yard.logs(1, 0.2)
    assert yard.look() >= conduct.JUDGE_S
    child = yard.sweep()["children"][1]
    assert (child["state"], child["stopped"]) == (
        "Canceled",
        "at interval 1 its best is 0.2, worse than what the slack allows (0.818182)",
    )
    events = yard.call("GET", f"{yard.url}/runs/HD_1_1/events").json
    assert [event["reason"] for event in events][-2:] == [
        "Cancel requested by the Bandit policy",
        "Canceled by the Bandit policy",
    ]
    yard.ends(0, 0.95)
    yard.look()
    assert yard.run()["state"] == "Completed"


def test_a_policy_knows_after_a_restart_what_runs_that_are_over_had_logged(yard) -> None:
    yard.create(policy="Bandit", policy_properties={"slack_factor": 0.1, "delay_evaluation": 2}, max_total_runs=2)
    yard.look()
    yard.ends(0, 0.9, 0.9)
    yard.look()
    yard.restart()
    yard.starts(1)
    yard.logs(1, 0.2)
    yard.look()
    assert yard.states()[1] == "Running"
    yard.logs(1, 0.2)
    yard.look()
    assert yard.states()[1] == "Canceled"


def test_time_that_is_over_ends_what_still_runs(yard) -> None:
    yard.create(max_duration_minutes=1)
    yard.look()
    yard.starts(0)
    yard.later(61)
    yard.look()
    assert yard.states() == ["Canceled", "Canceled"]
    yard.look()
    assert yard.run()["state"] == "Completed"
    assert "max_duration_minutes is over" in yard.run()["reason"]


def test_a_metric_that_nobody_logs_is_said_when_the_first_child_ends(yard) -> None:
    yard.create(metric="Accuracy")
    yard.look()
    yard.logs(0, 0.5, name="accuracy")
    yard.logs(0, 0.5, name="loss")
    yard.ends(0)
    yard.look()
    (warning,) = yard.run()["warnings"]
    assert "No run of this sweep has logged the primary metric 'Accuracy'. HD_1_0 has ended" in warning
    assert "it logged 'accuracy', 'loss'. Did you mean 'accuracy'?" in warning
    assert warning in yard.log()
    yard.ends(1)
    yard.look()
    assert len(yard.run()["warnings"]) == 1


def test_a_metric_that_nobody_logs_is_said_while_children_run(yard) -> None:
    yard.create()
    yard.look()
    yard.starts(0)
    yard.logs(0, 0.5, name="loss")
    yard.look()
    assert yard.run()["warnings"] == []
    yard.later(31)
    yard.look()
    (warning,) = yard.run()["warnings"]
    assert "HD_1_0 has been running for a while, and it logged 'loss'." in warning


def test_a_metric_that_was_only_ever_nan_is_not_called_unlogged(yard) -> None:
    yard.create(max_total_runs=2)
    yard.look()
    yard.ends(0, float("nan"))
    yard.look()
    yard.logs(1, 0.5, name="loss")
    yard.ends(1)
    yard.look()
    assert yard.run()["warnings"] == []


def test_nan_and_infinity_are_no_best_values(yard) -> None:
    yard.create(max_total_runs=2)
    yard.look()
    yard.ends(0, float("nan"))
    yard.ends(1, float("inf"), 0.3, float("-inf"))
    yard.look()
    assert [child["best"] for child in yard.sweep()["children"]] == [None, 0.3]
    assert "#0    Completed  'acc' was never a finite number" in yard.log()
    assert yard.run()["properties"]["best_child_run_id"] == "HD_1_1"


def test_children_that_fail_or_are_canceled_by_hand_do_not_end_the_sweep(yard) -> None:
    yard.create(max_total_runs=3)
    yard.look()
    yard.ends(0, state=RunState.FAILED)
    yard.call("POST", f"{yard.url}/runs/HD_1_1/cancel")
    yard.look()
    yard.ends(2, 0.4)
    yard.look()
    assert yard.states() == ["Failed", "Canceled", "Completed"]
    assert yard.run()["state"] == "Completed"


def test_a_sweep_whose_children_all_fail_says_so_early_and_fails(yard) -> None:
    yard.create()
    yard.look()
    for index in range(3):
        yard.ends(index, state=RunState.FAILED)
        yard.look()
    assert yard.run()["warnings"] == ["The first 3 children all failed. HD_1_0: It broke."]
    yard.ends(3, state=RunState.FAILED)
    yard.look()
    parent = yard.run()
    assert (parent["state"], parent["error"]["code"]) == ("Failed", "UserError")
    assert parent["error"]["message"] == "All 4 children failed; the first of them, HD_1_0: It broke."
    assert parent["error"]["last_lines"] == ["Traceback", "ValueError: no"]
    assert "#0    Failed     never logged 'acc'   It broke. Its last line: ValueError: no" in yard.log()
    assert parent["properties"]["best_metric_status"] == "NoMetricLogged"


def test_a_target_that_is_gone_fails_the_sweep(yard) -> None:
    shape = {"name": "cpu", "max_nodes": 1, "vm_size": "STANDARD_D1"}
    assert yard.call("POST", f"{yard.url}/computes", shape).status == 200
    yard.create(run={"script": "train.py", "target": "cpu"}, max_concurrent_runs=1)
    yard.look()
    assert yard.run("HD_1")["target"] == "cpu"
    yard.ends(0, 0.1)
    with yard.context.db.write() as tx:
        tx.execute(text("DELETE FROM computes"))
    yard.look()
    assert yard.run()["state"] == "Failed"
    assert "The sweep cannot go on: ComputeTargetNotFound" in yard.run()["reason"]
    yard.look()
    assert yard.look() is None


def test_more_at_once_than_the_target_has_room_for_is_said_and_held_back(yard) -> None:
    shape = {"name": "cpu", "max_nodes": 1, "vm_size": "STANDARD_D1"}
    yard.call("POST", f"{yard.url}/computes", shape)
    yard.create(run={"script": "train.py", "target": "cpu"}, max_concurrent_runs=4)
    (warning,) = yard.run()["warnings"]
    assert "max_concurrent_runs is 4, and 'cpu' has room for 1 runs of one node at once" in warning
    yard.look()
    assert len(yard.states()) == 2  # one runs, one is there when its node is free


def test_more_at_once_than_there_are_runs_is_as_many_as_there_are(yard) -> None:
    shape = {"name": "cpu", "max_nodes": 3, "vm_size": "STANDARD_D1"}
    yard.call("POST", f"{yard.url}/computes", shape)
    yard.create(run={"script": "train.py", "target": "cpu"}, max_total_runs=3, max_concurrent_runs=20)
    yard.look()
    assert (yard.run()["warnings"], len(yard.states())) == ([], 3)


def test_a_grid_that_is_smaller_than_max_total_runs_ends_when_it_is_through(yard) -> None:
    yard.create(sampling="GRID", space={"a": ["choice", [[1, 2]]]}, max_total_runs=10, max_concurrent_runs=5)
    yard.look()
    assert yard.sweep()["total"] == 2
    assert [child["parameters"] for child in yard.sweep()["children"]] == [{"a": 1}, {"a": 2}]
    yard.ends(0, 0.1)
    yard.ends(1, 0.2)
    yard.look()
    assert yard.run()["state"] == "Completed"


def test_members_of_a_population_begin_with_the_outputs_of_the_member_before(yard) -> None:
    yard.create(sampling="PopulationBased", sampling_properties={"population_size": 2, "seed": 1})
    yard.look()
    yard.ends(0, 0.9)
    yard.look()
    assert len(yard.states()) == 2  # the next generation waits for the whole of this one
    yard.ends(1, 0.1)
    yard.look()
    assert [yard.run(f"HD_1_{at}")["spec"]["outputs_from"] for at in (2, 3)] == ["HD_1_0", "HD_1_0"]
    assert yard.run("HD_1_2")["spec"]["variables"] == {"TRAINYARD_OUTPUTS_FROM": "HD_1_0"}
    assert yard.sweep()["children"][2]["parameters"] == yard.sweep()["children"][0]["parameters"]
    assert "going on from #0" in yard.log()


def test_the_same_sweep_sent_twice_is_one(yard) -> None:
    first = yard.create()
    yard.look()
    again = yard.create()
    assert (again.status, again.json["number"]) == (200, first.json["number"])
    yard.look()
    assert len(yard.states()) == 2


def test_another_sweep_under_the_same_id_is_refused(yard) -> None:
    yard.create()
    for changes in ({"max_total_runs": 5}, {"space": {"lr": ["uniform", [0, 2]]}}, {"run": {"script": "other.py"}}):
        answer = yard.create(**changes)
        assert (answer.status, answer.json["error"]["message"]) == (
            409,
            "Run 'HD_1' exists already. Choose another run_id, or leave it out.",
        )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sampling": "GRID"}, "Grid sampling tries every combination, and 'lr' is uniform"),
        (
            {"sampling": "BayesianOptimization", "policy": "Bandit", "policy_properties": {"slack_factor": 0.1}},
            "takes no early termination policy",
        ),
        ({"space": {}}, "not empty"),
        ({"space": {"lr": ["uniform", [1, 0]]}}, "goes from 1 to 0. Swap them"),
        ({"space": {"lr": 0.1}}, "not an expression"),
        ({"max_total_runs": 0}, "max_total_runs is 0"),
        ({"max_concurrent_runs": 0}, "max_concurrent_runs is 0"),
        ({"metric": ""}, "primary_metric_name is empty"),
        ({"policy": "TruncationSelection", "policy_properties": {}}, "truncation_percentage is None"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_queued(yard, changes, said) -> None:
    assert said in yard.refused(**changes)


def test_a_run_that_is_no_sweep_is_not_shown_as_one(yard) -> None:
    yard.call("POST", f"{yard.url}/runs", {"experiment": "e", "run_id": "plain"})
    answer = yard.call("GET", f"{yard.url}/sweeps/plain")
    assert (answer.status, answer.json["error"]["code"]) == (404, "not_found")


def test_what_was_drawn_is_among_the_parameters_that_are_searched(yard) -> None:
    yard.create()
    yard.look()
    lr = yard.sweep()["children"][1]["parameters"]["lr"]
    found = yard.call("POST", f"{yard.url}/search", {"query": f"params.lr = {lr}"})
    assert [each["run"]["run_id"] for each in found.json["runs"]] == ["HD_1_1"]
