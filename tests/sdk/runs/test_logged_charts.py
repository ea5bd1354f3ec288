"""Accuracy tables, predictions and residuals as what a widget draws."""

import pytest

from trainyard.sdk.runs.logged_charts import drawing


def test_an_accuracy_table_is_a_curve_for_each_class():
    # true positives, false positives, true negatives, false negatives: everything called true, half, nothing
    table = [[10, 20, 0, 0], [8, 5, 15, 2], [0, 0, 20, 10]]
    drawn = drawing("accuracy_table", {"probability_tables": [table, table[:1]], "class_labels": ["cat"]})
    assert (drawn["up"], drawn["across"]) == ("true positives", "false positives")
    cat, other, chance = drawn["lines"]
    assert cat == {"label": "cat", "points": [(0.0, 0.0), (0.25, 0.8), (1.0, 1.0)]}
    assert (other["label"], chance["faint"]) == ("class 1", True)


def test_predictions_have_their_deviation_around_them():
    data = {"bin_edges": [0, 1, 3], "bin_averages": [0.75, 2.0], "bin_errors": [0.25, 0.5], "bin_counts": [1, 1]}
    predicted, above, below, ideal = (line["points"] for line in drawing("predictions", data)["lines"])
    assert predicted == [(0.5, 0.75), (2.0, 2.0)]
    assert (above, below) == ([(0.5, 1.0), (2.0, 2.5)], [(0.5, 0.5), (2.0, 1.5)])
    assert ideal == [(0.5, 0.5), (2.0, 2.0)]


def test_residuals_are_bars():
    drawn = drawing("residuals", {"bin_edges": [-1, 0, 2], "bin_counts": [3, float("nan")]})
    assert drawn == {"bars": [(-1, 0, 3)]}


@pytest.mark.parametrize("kind", ["accuracy_table", "predictions", "residuals"])
@pytest.mark.parametrize("data", [None, {}, [], {"bin_edges": 3, "bin_counts": [1], "probability_tables": [[1]]}])
def test_what_does_not_fit_is_not_drawn(kind, data):
    assert drawing(kind, data) is None
