"""Sweeps that go on from earlier ones, and samplings that learn."""

from __future__ import annotations

import pytest
from sqlalchemy import text


@pytest.fixture
def earlier(yard) -> None:
    """A sweep that is over."""
    yard.create("HD_0", max_total_runs=2)
    yard.look()
    yard.ends(0, 0.7, sweep="HD_0")
    yard.ends(1, 0.6, sweep="HD_0")
    yard.look()


def test_runs_that_are_gone_on_with_come_first(yard, earlier) -> None:
    yard.create(resume_child_runs=["HD_0_1"])
    yard.look()
    first, second = yard.sweep()["children"]
    assert first["parameters"] == yard.sweep("HD_0")["children"][1]["parameters"]
    assert first["outputs_from"] == "HD_0_1"
    assert yard.run("HD_1_0")["spec"]["arguments"][-2:] == ["--resume-from", "outputs"]
    assert second["outputs_from"] is None
    assert "   going on from HD_0_1\n" in yard.log()


def test_a_run_that_was_gone_on_with_may_be_deleted_once_its_child_is_there(yard, earlier) -> None:
    yard.create(resume_child_runs=["HD_0_1"], max_total_runs=2)
    yard.look()
    assert yard.delete("HD_0").status == 200
    yard.restart()
    yard.ends(0, 0.9)
    yard.ends(1, 0.1)
    yard.look()
    parent = yard.run()
    assert (parent["state"], parent["properties"]["best_child_run_id"]) == ("Completed", "HD_1_0")


def test_a_name_with_dashes_is_the_same_parameter(yard, earlier) -> None:
    yard.create(space={"--lr": ["uniform", [0, 1]]}, resume_child_runs=["HD_0_1"])
    yard.look()
    (lr,) = yard.sweep("HD_0")["children"][1]["parameters"].values()
    assert yard.sweep()["children"][0]["parameters"] == {"--lr": lr}


def test_an_earlier_sweep_that_teaches_nothing_is_named(yard, earlier) -> None:
    learning = {"sampling": "BayesianOptimization", "resume_from": ["HD_0"]}
    yard.create("HD_1", space={"--lr": ["uniform", [0, 1]]}, **learning)
    assert yard.run("HD_1")["warnings"] == []
    yard.create("HD_2", space={"depth": ["uniform", [0, 1]]}, **learning)
    (warning,) = yard.run("HD_2")["warnings"]
    assert warning.startswith("Nothing is learned from HD_0: no run there has a value of 'acc' and all parameters")


def test_another_goal_or_metric_on_resume_is_refused(yard, earlier) -> None:
    for changes, said in (
        ({"goal": "MINIMIZE"}, "was to maximize 'acc'; this sweep is to minimize 'acc'"),
        ({"metric": "loss"}, "was to maximize 'acc'; this sweep is to maximize 'loss'"),
    ):
        answer = yard.create(resume_from=["HD_0"], **changes)
        assert (answer.status, answer.json["error"]["code"]) == (400, "request.sweep")
        assert said in answer.json["error"]["message"]
    assert yard.create(resume_from=["HD_0"]).status == 200


def test_only_what_is_over_is_resumed(yard) -> None:
    yard.create("HD_0")
    yard.look()
    answer = yard.create(resume_from=["HD_0"])
    assert "which is Running. Resume from sweeps that are Completed or Canceled" in answer.json["error"]["message"]
    answer = yard.create(resume_child_runs=["HD_0_0"])
    assert "which is NotStarted. Wait for it, or cancel it" in answer.json["error"]["message"]
    assert "no such sweep" in yard.create(resume_from=["HD_9"]).json["error"]["message"]


def test_bayesian_sampling_waits_for_room_and_learns_across_a_restart(yard) -> None:
    shape = {"name": "cpu", "max_nodes": 2, "vm_size": "STANDARD_D1"}
    yard.call("POST", f"{yard.url}/computes", shape)
    yard.create(
        sampling="BayesianOptimization",
        sampling_properties={"seed": 5},
        run={"script": "train.py", "target": "cpu"},
        max_total_runs=25,
        max_concurrent_runs=6,
    )
    yard.look()
    for index in range(24):
        if index == 15:
            yard.restart()
        children = yard.sweep()["children"]
        assert len(children) == index + min(2, 25 - index)  # as many as there are nodes, none beforehand
        yard.ends(index, -abs(children[index]["parameters"]["lr"] - 0.7))
        yard.look()
    tried = [child["parameters"]["lr"] for child in yard.sweep()["children"]]
    late = [abs(lr - 0.7) for lr in tried[15:]]
    assert sum(late) / len(late) < 0.15  # drawn at random they would be 0.29 away


def test_a_sweep_learns_from_several_earlier_ones(yard) -> None:
    """Each parent has seen one half of the space; together they say where to look."""
    learning = {"sampling": "BayesianOptimization", "max_concurrent_runs": 1}
    for parent, tried in (("HD_0", (0.05, 0.15, 0.25, 0.35, 0.45)), ("HD_00", (0.55, 0.65, 0.75, 0.85, 0.95))):
        yard.create(parent, max_total_runs=5, max_concurrent_runs=5)
        yard.look()
        with yard.context.db.write() as tx:
            for at, lr in enumerate(tried):
                given = {"said": f'{{"lr": {lr}}}', "run_id": f"{parent}_{at}"}
                tx.execute(text("UPDATE sweep_children SET parameters = :said WHERE run_id = :run_id"), given)
        for at, lr in enumerate(tried):
            yard.ends(at, -abs(lr - 0.65), sweep=parent)
        yard.look()
    yard.create("HD_1", resume_from=["HD_0", "HD_00"], **learning, max_total_runs=4)
    for index in range(4):
        yard.look()
        lr = yard.sweep()["children"][index]["parameters"]["lr"]
        assert 0.45 < lr < 0.85  # nothing of it was tried in this sweep: the parents told it
        yard.ends(index, -abs(lr - 0.65))
    yard.look()
    assert yard.run()["state"] == "Completed"


def test_more_earlier_sweeps_or_runs_than_the_sdk_allows_are_refused(yard, earlier) -> None:
    many = yard.create(resume_from=["HD_0"] * 6).json["error"]["message"]
    assert many == "resume_from has 6 sweeps. Give at most 5."
    runs = yard.create(resume_from=["HD_0"], max_total_runs=999).json["error"]["message"]
    assert "would know 1001 runs; at most 1000 are allowed" in runs


def test_an_earlier_sweep_that_was_deleted_meanwhile_does_not_end_this_one(yard, earlier) -> None:
    yard.create(resume_from=["HD_0"], max_total_runs=2)
    yard.look()
    assert yard.delete("HD_0").status == 200
    yard.restart()
    yard.ends(0, 0.1)
    yard.ends(1, 0.2)
    yard.look()
    assert yard.run()["state"] == "Completed"


def test_a_child_that_was_deleted_while_its_sweep_goes_on_is_not_started_again(yard) -> None:
    yard.create(max_total_runs=5)
    yard.look()
    yard.ends(0, 0.4)
    yard.look()
    yard.ends(1, 0.2)
    yard.delete("HD_1_0", "HD_1_1")  # the end of one was taken in, that of the other was not
    yard.look()
    yard.restart()
    yard.look()
    assert [child["index"] for child in yard.sweep()["children"]] == [2, 3]
    for index in (2, 3, 4):
        yard.ends(index, 0.1 * index)
        yard.look()
        yard.restart()
    yard.look()
    assert yard.run()["state"] == "Completed"
    assert [child["run_id"] for child in yard.sweep()["children"]] == ["HD_1_2", "HD_1_3", "HD_1_4"]
    assert yard.log().count("started") == 5
