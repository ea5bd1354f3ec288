"""A metric's last value in the few words that fit a cell."""

import json

import pytest

from trainyard.cli.metric_words import last_of
from trainyard.contract.metrics import MetricSummary


def logged(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return MetricSummary("m", 1, None, None, None, text)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("adam", "adam"),
        ('{"not": closed', '{"not": closed'),
        ({"artifact": "matrix_1.json", "kind": "confusion_matrix"}, "matrix_1.json"),
        ({"row": {"lr": 0.30000000000000004, "epochs": 3, "how": "sgd"}}, "lr=0.3 epochs=3 how=sgd"),
        ({"table": {"x": [1, 2], "y": [3, 4]}}, "2 rows of x, y"),
        ({"table": {"x": [1]}}, "1 row of x"),
        ({"row": {"text": "z" * 100}}, "text=" + "z" * 34 + "…"),
    ],
)
def test_what_is_no_number(value, said):
    assert last_of(logged(value)) == said


@pytest.mark.parametrize(("value", "said"), [(3.0, "3"), (0.1 + 0.2, "0.3"), (1e12, "1e+12"), (None, "—")])
def test_numbers(value, said):
    assert last_of(MetricSummary("m", 1, value, value, value)) == said
