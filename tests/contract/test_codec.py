"""Records to JSON and back, also between versions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from trainyard.contract.attempts import AgentOrder, JobContext, NodeEnded, Orders, Peer
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.computes import ComputeRecord, ComputeStatus, NodeRecord, NodeShape, Priority
from trainyard.contract.runs import EnvironmentSpec, NewRun, RunError, RunQuery, RunRecord, RunSpec
from trainyard.contract.states import RunState

SPEC = RunSpec(
    target="cpu",
    script="train.py",
    arguments=("--epochs", "3"),
    environment=EnvironmentSpec(name="e", variables={"A": "1"}, definition={"python": {"x": [1, None]}}),
    variables={"B": "ü"},
)
RUN = RunRecord(
    run_id="first_1_ab",
    workspace_id="w",
    experiment="first",
    number=1,
    state=RunState.FAILED,
    reason="the script exited with 3",
    attempt=2,
    events=9,
    created_by="me",
    created_ns=1_700_000_000_000_000_001,
    error=RunError("script.exit", "It failed.", exit_code=3, last_lines=("a", "b")),
    tags={"a": None, "b": "c"},
    spec=SPEC,
)
COMPUTE = ComputeRecord(
    *("c", "w", "cpu", "AmlCompute", "local", "STANDARD_D2_V2", NodeShape(2, 7.0), Priority.LOW, 0, 4, 120, "me", 1, 2),
    warnings=("larger than this machine",),
)


@pytest.mark.parametrize(
    "record",
    [
        SPEC,
        RUN,
        COMPUTE,
        NewRun("first", SPEC, tags={"a": None}),
        RunQuery(states=(RunState.RUNNING, RunState.QUEUED), properties={"a": None}),
        ComputeStatus(COMPUTE, (NodeRecord("n1", "idle", None, 5),), 1),
        Orders(True, spec=SPEC, peers=(Peer(0, "h", "127.0.0.1"), Peer(1, "h", "127.0.0.1")), gpus=("0", "1")),
        NodeEnded(1, RunError("x", "y")),
        AgentOrder("a", 0, "t", None, "/home", "/work"),
        JobContext("r", 1, "a", "w", "n", "s", "g", "e", "i", None, None, "/spool", "/working"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_there_and_back_through_text(record: object) -> None:
    assert from_json(type(record), json.loads(json.dumps(to_json(record)))) == record


def test_the_form() -> None:
    assert to_json(NodeShape(2, 7.0, 1)) == {"cores": 2, "memory_gb": 7.0, "gpus": 1}
    assert to_json([RunState.RUNNING, {"a": (1, None)}]) == ["Running", {"a": [1, None]}]


def test_a_newer_peer_s_keys_are_dropped_and_an_older_one_s_are_defaults() -> None:
    assert from_json(Peer, {"node": 1, "host": "h", "address": "a", "since": "v9"}) == Peer(1, "h", "a")
    assert from_json(RunSpec, {"script": "a.py", "unheard": {}}) == RunSpec(script="a.py")
    assert from_json(RunSpec, {}).environment == EnvironmentSpec()


def test_containers() -> None:
    assert from_json(list[str], ["a"]) == ["a"]
    assert from_json(list[Peer], [{"node": 0, "host": "h", "address": "a"}]) == [Peer(0, "h", "a")]

    @dataclass(frozen=True)
    class Nested:
        by_name: dict[str, int] = field(default_factory=dict)
        maybe: int | None = None

    assert from_json(Nested, {"by_name": {"a": 1}, "maybe": None}) == Nested({"a": 1})


@pytest.mark.parametrize("value", [None, [], "text", 7, [["state"]]])
def test_what_is_no_record_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        from_json(RunSpec, value)


def test_what_lacks_something_or_names_no_state_is_refused() -> None:
    with pytest.raises(TypeError, match="missing"):
        from_json(Peer, {"node": 1})
    with pytest.raises(ValueError, match="Dreaming"):
        from_json(RunQuery, {"states": ["Dreaming"]})
