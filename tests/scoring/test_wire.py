from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest

from trainyard.scoring import wire
from trainyard.scoring.wire import Answer, Frames, Request

SCORING = Path(__file__).parent.parent.parent / "src/trainyard/scoring"


def test_frames_come_in_pieces_of_any_size() -> None:
    sent = (
        wire.pack({"kind": "a", "text": "grüße"}) + wire.pack({"kind": "b"}, b"\x00" * 1000) + wire.pack({"kind": "c"})
    )
    for size in (1, 7, 64, 5000):
        frames = Frames()
        found = [frame for at in range(0, len(sent), size) for frame in frames.feed(sent[at : at + size])]
        assert [(head["kind"], len(payload)) for head, payload in found] == [("a", 0), ("b", 1000), ("c", 0)]
        assert found[0][0]["text"] == "grüße"


def test_requests_and_answers_arrive_as_they_were() -> None:
    requests = [
        Request(b"\xff\x00body", "GET", "/score", "a=1", (("x-a", "ü"), ("x-a", "2"))),
        Request(b""),
    ]
    head, payload = wire.receive(io.BytesIO(wire.pack_requests(7, requests, 250)))  # type: ignore[misc]
    assert (head["id"], head["limit_ms"]) == (7, 250)
    assert wire.unpack_requests(head, payload) == requests
    answers = [Answer(b"one", 201, (("a", "b"),)), Answer(b"\x00")]
    head, payload = wire.receive(io.BytesIO(wire.pack_answers(7, answers, 1.23456)))  # type: ignore[misc]
    assert (head["id"], head["ms"]) == (7, 1.235)
    assert wire.unpack_answers(head, payload) == answers


def test_half_a_frame_is_the_end() -> None:
    whole = wire.pack({"kind": "a"}, b"payload")
    for size in (0, 3, 8, len(whole) - 1):
        assert wire.receive(io.BytesIO(whole[:size])) is None


@pytest.mark.parametrize("path", sorted(SCORING.glob("*.py")), ids=lambda path: path.stem)
def test_it_is_written_in_the_python_of_old_environments(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    late = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    assert late or len(tree.body) == 1  # annotations are not evaluated
