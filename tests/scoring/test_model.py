"""Requests to models without code that are put together in one call, and those that must not be."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest

from trainyard.scoring.model import Arrays, ModelScorer, Port
from trainyard.scoring.wire import Answer, Assignment, Request


class Scored(ModelScorer):
    """A model that is a function of arrays; `calls` has the number of rows of each call of it."""

    def __init__(self, function: Callable[..., Any], *ports: Port) -> None:
        super().__init__(Assignment("svc", "1", "fake"))
        self._function = function
        self._ports = ports or (Port("x", "float64"),)
        self.calls: list[int] = []

    def ports(self, call: object) -> Sequence[Port]:
        return self._ports

    def call(self, arrays: Arrays, call: object) -> Arrays:
        self.calls.append(len(arrays[self._ports[0].name]))
        return {"y": self._function(**arrays)}


def asked(*bodies: Any) -> list[Request]:
    return [Request(json.dumps(body).encode(), headers=(("content-type", "application/json"),)) for body in bodies]


def answered(answers: list[Answer]) -> list[Any]:
    return [json.loads(answer.body) for answer in answers]


FIRST, SECOND = {"data": [[1.0, 2.0], [3.0, 4.0]]}, {"data": [[5.0, 6.0]]}


def test_rows_are_put_together_once_it_is_proven_that_they_may_be() -> None:
    scorer = Scored(lambda x: x.sum(1))
    assert answered(scorer.score_many(asked(FIRST, SECOND))) == [[3.0, 7.0], [11.0]]
    assert scorer.calls == [3, 2, 1, 3]
    assert answered(scorer.score_many(asked(FIRST, SECOND))) == [[3.0, 7.0], [11.0]]
    assert scorer.calls[4:] == [3]


@pytest.mark.parametrize("body", [SECOND, {"data": [[1.0, 1.0]]}])
def test_equal_requests_are_put_together_too(body: Any) -> None:
    scorer = Scored(lambda x: x.sum(1))
    answers = answered(scorer.score_many(asked(body, body)))
    assert answers == [[sum(body["data"][0])]] * 2
    scorer.calls.clear()
    assert answered(scorer.score_many(asked(body, body))) == answers
    assert scorer.calls == [2]


def test_equal_requests_alone_prove_nothing() -> None:
    scorer = Scored(lambda x: x - x.mean(0))
    assert answered(scorer.score_many(asked(SECOND, SECOND))) == [[[0.0, 0.0]], [[0.0, 0.0]]]
    assert answered(scorer.score_many(asked(SECOND, {"data": [[7.0, 8.0]]}))) == [[[0.0, 0.0]], [[0.0, 0.0]]]


@pytest.mark.parametrize(
    "function",
    [lambda x: x.cumsum(0)[:, 0], lambda x: x[::-1, 0], lambda x: x[:, 0] - x[:, 0].mean(), lambda x: x.sum()],
    ids=["a sequence", "reversed", "normalised", "one number"],
)
def test_what_is_no_row_by_itself_is_answered_as_if_it_were_alone(
    function: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    alone = [json.loads(Scored(function).score(request).body) for request in asked(FIRST, SECOND)]
    scorer = Scored(function)
    for _ in range(3):
        assert answered(scorer.score_many(asked(FIRST, SECOND))) == alone
    assert scorer.calls.count(3) == 1
    assert capsys.readouterr().err.endswith("Its requests are no longer put together.\n")


def test_requests_whose_inputs_differ_in_length_are_not_mixed() -> None:
    scorer = Scored(lambda a, b: a[:1] + b[:1], Port("a", "float64", (None,)), Port("b", "float64", (None,)))
    uneven = asked({"data": {"a": [1, 2], "b": [10]}}, {"data": {"a": [3], "b": [20, 30]}})
    assert answered(scorer.score_many(uneven)) == [[11.0], [23.0]]


def test_one_that_the_model_chokes_on_fails_by_itself() -> None:
    def picky(x: Any) -> Any:
        if (x < 0).any():
            raise ValueError("negative")
        return x

    bad = {"data": [[-1.0, 0.0]]}
    answers = Scored(picky).score_many(asked(SECOND, bad))
    assert [answer.status for answer in answers] == [200, 500]
    assert json.loads(answers[0].body) == [[5.0, 6.0]]


def test_a_model_that_takes_no_made_up_values_is_not_asked_with_them_twice(capsys: pytest.CaptureFixture[str]) -> None:
    def of_known(x: Any) -> Any:
        if not set(x.flat) <= {1.0, 5.0, 6.0}:
            raise ValueError("never seen")
        return x.sum(1)

    scorer, equal = Scored(of_known), {"data": [[1.0, 1.0]]}
    assert answered(scorer.score_many(asked(equal, equal))) == [[2.0]] * 2
    scorer.calls.clear()
    assert answered(scorer.score_many(asked(equal, equal))) == [[2.0]] * 2
    assert scorer.calls == [1, 1]
    assert capsys.readouterr().err == ""
    assert answered(scorer.score_many(asked(equal, SECOND))) == [[2.0], [11.0]]  # different ones are the proof
    scorer.calls.clear()
    assert answered(scorer.score_many(asked(equal, equal))) == [[2.0]] * 2
    assert scorer.calls == [2]


def test_sums_in_another_order_are_no_difference() -> None:
    scorer = Scored(lambda x: (x * (1 + 1e-6 * len(x))).astype(numpy.float32))
    scorer.score_many(asked(FIRST, SECOND))
    assert scorer.score_many(asked(FIRST, SECOND))
    assert scorer.calls[-1] == 3
