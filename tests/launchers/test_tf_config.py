from __future__ import annotations

import json

import pytest

from trainyard.contract.attempts import Peer
from trainyard.contract.runs import Role, RunSpec
from trainyard.launchers import find_launcher
from trainyard.launchers.base import NodeView, Process

TWO = (Peer(0, "a", "10.0.0.1", (2222, 2223)), Peer(1, "b", "10.0.0.2", (2224, 2225)))


def planned(index: int, *roles: Role) -> list[Process]:
    return find_launcher("tf_config")(RunSpec(script="train.py", nodes=2, roles=roles), NodeView(index, TWO, "python"))


def test_two_workers_and_a_parameter_server() -> None:
    worker, server = planned(0, Role("worker", 2), Role("ps", 1))
    assert worker.variables["TF_CONFIG"] == (
        '{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2224"], "ps": ["10.0.0.1:2223"]}, '
        '"task": {"type": "worker", "index": 0}, "environment": "cloud"}'
    )
    assert json.loads(server.variables["TF_CONFIG"])["task"] == {"type": "ps", "index": 0}
    assert [(one.rank, one.role, one.serves, one.log) for one in (worker, server)] == [
        (0, "worker", False, "azureml-logs/70_driver_log_0.txt"),
        (2, "ps", True, "azureml-logs/70_driver_log_2.txt"),
    ]


def test_workers_alone_have_no_ps_key() -> None:
    (worker,) = planned(1, Role("worker", 2))
    assert json.loads(worker.variables["TF_CONFIG"]) == {
        "cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2224"]},
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }


@pytest.mark.parametrize("leader", ["chief", "master"])
def test_where_there_is_a_chief_the_others_serve_it(leader: str) -> None:
    first = planned(0, Role(leader, 1), Role("worker", 2), Role("ps", 1))
    second = planned(1, Role(leader, 1), Role("worker", 2), Role("ps", 1))
    assert [(one.role, one.serves) for one in first] == [(leader, False), ("worker", True)]
    assert [(one.role, one.serves) for one in second] == [("worker", True), ("ps", True)]
    assert json.loads(first[0].variables["TF_CONFIG"])["cluster"] == {
        leader: ["10.0.0.1:2222"],
        "worker": ["10.0.0.2:2224", "10.0.0.1:2223"],
        "ps": ["10.0.0.2:2225"],
    }
