"""Targets and nodes in a real SQLite file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from trainyard.contract.computes import ComputeChange, NewCompute, NodeShape, Priority
from trainyard.contract.errors import AlreadyExists, Conflict, InvalidName, InvalidRequest, NotFound, UnknownCompute
from trainyard.server.computes import service
from trainyard.server.computes.machine import Machine
from trainyard.server.computes.service import Node
from trainyard.server.db import Database

S = 1_000_000_000
MACHINE = Machine(cores=8, memory_gb=32.0, gpus=("0", "1"))
CLUSTER = NewCompute("cpu-cluster", vm_size="STANDARD_D2_V2", max_nodes=4, idle_seconds=60)


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Connection]:
    database = Database(f"sqlite:///{tmp_path}/t.db")
    database.create_all()
    with database.write() as connection:
        yield connection
    database.close()


def take(
    tx: Connection, attempt: str, nodes: int, target: str = "cpu-cluster", now: int = 0
) -> tuple[Node, ...] | None:
    return service.allocate(tx, "w", target, attempt, f"run-{attempt}", nodes, False, now, MACHINE)


def states(tx: Connection, now: int = 0, name: str = "cpu-cluster") -> dict[str, int]:
    return dict(Counter(node.state for node in service.status(tx, "w", name, now).nodes))


def test_a_target_is_made_read_changed_and_deleted(tx: Connection) -> None:
    made = service.create(tx, "w", "ann", CLUSTER, MACHINE, 5)
    assert (made.name, made.kind, made.vm_size) == ("cpu-cluster", "AmlCompute", "STANDARD_D2_V2")
    assert (made.shape, made.created_by, made.created_ns, made.warnings) == (NodeShape(2, 7.0, 0), "ann", 5, ())
    assert service.get(tx, "w", "cpu-cluster") == made
    assert service.list_all(tx, "w") == [made]
    changed = service.change(tx, "w", "cpu-cluster", ComputeChange(min_nodes=2, max_nodes=3), 9)
    assert (changed.min_nodes, changed.max_nodes, changed.idle_seconds, changed.modified_ns) == (2, 3, 60, 9)
    assert states(tx) == {"idle": 2}
    service.remove(tx, "w", "cpu-cluster", [])
    assert service.list_all(tx, "w") == []
    with pytest.raises(UnknownCompute, match="ComputeTargetNotFound"):
        service.get(tx, "w", "cpu-cluster")


def test_making_it_again_brings_it_to_the_new_limits_and_its_nodes_stay_what_they_are(tx: Connection) -> None:
    first = service.create(tx, "w", "ann", CLUSTER, MACHINE, 1)
    again = service.create(tx, "w", "bob", replace(CLUSTER, max_nodes=8), MACHINE, 2)
    assert (again.id, again.created_by, again.created_ns) == (first.id, "ann", 1)
    assert (again.max_nodes, again.shape, again.modified_ns) == (8, first.shape, 2)
    with pytest.raises(AlreadyExists, match="these do not change"):
        service.create(tx, "w", "ann", replace(CLUSTER, vm_size="STANDARD_D3_V2"), MACHINE, 3)
    with pytest.raises(AlreadyExists, match="with dedicated nodes"):
        service.create(tx, "w", "ann", replace(CLUSTER, priority=Priority.LOW), MACHINE, 3)
    with pytest.raises(AlreadyExists, match="of type AmlCompute"):
        service.create(tx, "w", "ann", replace(CLUSTER, kind="BatchAI"), MACHINE, 3)
    service.create(tx, "other", "ann", CLUSTER, MACHINE, 4)


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (replace(CLUSTER, name="local"), "reserved"),
        (replace(CLUSTER, name="AmlCompute"), "reserved"),
        (replace(CLUSTER, min_nodes=5), "min_nodes is 5"),
        (replace(CLUSTER, min_nodes=-1), "min_nodes is -1"),
        (replace(CLUSTER, max_nodes=0), "max_nodes is 0"),
        (replace(CLUSTER, max_nodes=10**6), "from 1 to 1000"),
        (replace(CLUSTER, idle_seconds=-1), "idle_seconds"),
        (replace(CLUSTER, backend="cloud"), "No backend named 'cloud'"),
        (replace(CLUSTER, vm_size="Big"), "vm_size 'Big'"),
    ],
)
def test_what_makes_no_sense_is_refused(tx: Connection, new: NewCompute, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        service.create(tx, "w", "ann", new, MACHINE, 0)


@pytest.mark.parametrize("name", ["a", "9lives", "with space", "sl/ash", "x" * 33])
def test_names_follow_the_rules(tx: Connection, name: str) -> None:
    with pytest.raises(InvalidName):
        service.create(tx, "w", "ann", replace(CLUSTER, name=name), MACHINE, 0)


def test_nodes_rise_on_demand_are_used_again_and_fall_after_their_idle_time(tx: Connection) -> None:
    service.create(tx, "w", "ann", CLUSTER, MACHINE, 0)
    assert states(tx) == {}
    first = take(tx, "a", 2)
    assert first is not None
    assert states(tx) == {"running": 2}
    service.release(tx, "a", 10 * S)
    service.release(tx, "a", 11 * S)
    assert states(tx, 10 * S) == {"idle": 2}
    second = take(tx, "b", 1, now=20 * S)
    assert second is not None
    assert second[0].node_id in {node.node_id for node in first}
    assert service.scale(tx, 30 * S) == 70 * S
    assert states(tx, 30 * S) == {"running": 1, "idle": 1}
    assert states(tx, 70 * S) == {"running": 1}  # its time is up, whether or not scale has come by
    assert service.scale(tx, 70 * S) is None
    assert states(tx, 70 * S) == {"running": 1}


def test_all_or_none(tx: Connection) -> None:
    service.create(tx, "w", "ann", CLUSTER, MACHINE, 0)
    assert take(tx, "a", 3) is not None
    assert take(tx, "b", 2) is None
    assert states(tx) == {"running": 3}
    assert take(tx, "c", 1) is not None
    assert take(tx, "d", 1) is None
    service.release(tx, "a", S)
    assert take(tx, "b", 2) is not None


def test_status_says_what_is_wanted(tx: Connection) -> None:
    service.create(tx, "w", "ann", replace(CLUSTER, min_nodes=1), MACHINE, 7)
    status = service.status(tx, "w", "cpu-cluster", 7)
    assert (status.target_nodes, status.steady, status.changed_ns) == (1, True, 7)
    take(tx, "a", 3, now=9)
    status = service.status(tx, "w", "cpu-cluster", 9)
    assert (status.target_nodes, status.steady, status.changed_ns) == (3, True, 9)
    assert {node.run_id for node in status.nodes} == {"run-a"}


def test_a_used_target_is_not_deleted(tx: Connection) -> None:
    service.create(tx, "w", "ann", CLUSTER, MACHINE, 0)
    take(tx, "a", 1)
    with pytest.raises(Conflict, match="used by run-a"):
        service.remove(tx, "w", "cpu-cluster", [])
    service.release(tx, "a", 0)
    with pytest.raises(Conflict, match="used by queued-run"):
        service.remove(tx, "w", "cpu-cluster", ["queued-run"])
    service.remove(tx, "w", "cpu-cluster", [])


def test_only_low_priority_nodes_are_taken_away(tx: Connection) -> None:
    service.create(tx, "w", "ann", CLUSTER, MACHINE, 0)
    with pytest.raises(InvalidRequest, match="dedicated"):
        service.preempt(tx, "w", "cpu-cluster", None, 0)


def test_a_preempted_node_goes_with_its_attempt(tx: Connection) -> None:
    service.create(tx, "w", "ann", replace(CLUSTER, priority=Priority.LOW, max_nodes=2), MACHINE, 0)
    with pytest.raises(NotFound, match="up: none"):
        service.preempt(tx, "w", "cpu-cluster", None, 0)
    take(tx, "a", 1, now=1)
    last = take(tx, "b", 1, now=2)
    assert last is not None
    assert service.preempt(tx, "w", "cpu-cluster", None, 3) == ["b"]
    assert states(tx) == {"running": 1, "preempted": 1}
    status = service.status(tx, "w", "cpu-cluster", 3)
    assert (status.target_nodes, status.steady) == (1, False)
    with pytest.raises(NotFound, match="has no node"):
        service.preempt(tx, "w", "cpu-cluster", last[0].node_id, 4)
    assert take(tx, "b2", 1) is None
    service.scale(tx, 4)
    assert states(tx) == {"running": 1, "preempted": 1}
    service.release(tx, "b", 5)
    assert states(tx, 5) == {"running": 1}
    assert take(tx, "b2", 1) is not None


def test_an_idle_node_may_be_taken_away_too(tx: Connection) -> None:
    service.create(tx, "w", "ann", replace(CLUSTER, priority=Priority.LOW, min_nodes=1), MACHINE, 0)
    assert service.preempt(tx, "w", "cpu-cluster", None, 1) == []
    assert states(tx) == {"preempted": 1}
    service.scale(tx, 2)
    assert states(tx) == {"idle": 1}


def test_gpus_are_never_dealt_twice(tx: Connection) -> None:
    gpu = NewCompute("gpu-cluster", vm_size="STANDARD_NC6", max_nodes=4)
    made = service.create(tx, "w", "ann", gpu, MACHINE, 0)
    assert made.shape.gpus == 1
    assert "GPUs for 2 node(s)" in made.warnings[-1]
    assert service.capacity(tx, "w", "gpu-cluster", MACHINE) == 4
    assert [service.room(tx, "w", "gpu-cluster", nodes, MACHINE) for nodes in (1, 2, 3, 4, 5)] == [2, 1, 1, 1, 0]
    first = take(tx, "a", 1, "gpu-cluster")
    local = take(tx, "l", 1, "local")
    second = take(tx, "b", 1, "gpu-cluster")
    assert first is not None
    assert second is not None
    assert local is not None
    assert [first[0].gpus, second[0].gpus, local[0].gpus] == [("0",), ("1",), ("1",)]
    assert take(tx, "c", 1, "gpu-cluster") is None
    service.release(tx, "a", 0)
    third = take(tx, "c", 1, "gpu-cluster")
    assert third is not None
    assert third[0].gpus == ("0",)
    assert take(tx, "wide", 3, "gpu-cluster") is None
    for attempt in ("b", "c"):
        service.release(tx, attempt, 0)
    wide = take(tx, "wide", 3, "gpu-cluster")
    assert wide is not None
    assert [node.gpus for node in wide] == [("0",), ("1",), ("0",)]


def test_the_local_target_needs_no_row(tx: Connection) -> None:
    assert service.capacity(tx, "w", "local", MACHINE) == 16
    assert service.room(tx, "w", "local", 3, MACHINE) == 5
    assert service.backend_of(tx, "w", "local") == "local"
    assert take(tx, "a", 16, "local") is not None
    assert take(tx, "b", 1, "local") is None
    assert service.allocate(tx, "w", "local", "child", "run-child", 1, True, 0, MACHINE) is not None
    service.release(tx, "a", 0)
    assert take(tx, "b", 15, "local") is not None
    service.scale(tx, 0)
    assert take(tx, "c", 1, "local") is None


def test_an_unknown_target_names_those_there_are(tx: Connection) -> None:
    service.create(tx, "w", "ann", CLUSTER, MACHINE, 0)
    assert service.backend_of(tx, "w", "cpu-cluster") == "local"
    with pytest.raises(UnknownCompute, match="you have: cpu-cluster"):
        service.capacity(tx, "w", "gpu", MACHINE)
