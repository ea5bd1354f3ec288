import numpy as np
import pytest

from trainyard.contract.metrics import MetricSeries
from trainyard.sdk.errors import AzureMLException, UserErrorException
from trainyard.sdk.runs.metric_values import check_single, collapsed, list_values, row_json, scalar, table_jsons


def series(name, *values):
    return MetricSeries(name, values, (None,) * len(values), tuple(range(len(values))))


@pytest.mark.parametrize(
    ("values", "given_back"),
    [
        ((1,), 1),
        ((1, 2.5, "x", None), [1, 2.5, "x", None]),
        (({"row": {"a": 1, "b": 2}},), {"a": 1, "b": 2}),
        (({"row": {"a": 1}}, {"row": {"a": 2, "b": 3}}), {"a": [1, 2], "b": [3]}),
        (({"table": {"x": [1, 2], "y": [3, 4]}},), {"x": [1, 2], "y": [3, 4]}),
        (({"table": {"x": [1], "y": [3]}},), {"x": 1, "y": 3}),
        (({"table": {"x": [1]}}, {"table": {"x": [2]}}), {"x": [1, 2]}),
    ],
)
def test_what_was_logged_is_given_back_as_the_sdk_did(values, given_back):
    assert collapsed([series("m", *values)]) == {"m": given_back}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (np.float64(0.5), 0.5),
        (np.float32(0.5), 0.5),
        (np.int32(7), 7),
        (np.uint8(7), 7),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
    ],
)
def test_small_numpy_scalars_are_numbers(value, kept):
    found = scalar(value, "m")
    assert found == kept
    assert type(found) is type(kept)


def test_other_types_are_kept_as_their_repr_with_a_warning(caplog):
    assert scalar(np.int64(7), "int64-metric") == repr(np.int64(7))
    assert "int64-metric" in caplog.text
    assert scalar((1, 2), "tuple-metric") == "(1, 2)"


@pytest.mark.parametrize("value", [[1], range(2), (n for n in [1])])
def test_several_values_are_not_one(value):
    with pytest.raises(UserErrorException, match="log_list"):
        check_single("m", value)


def test_a_list_may_come_from_a_generator_and_not_from_text():
    assert list_values("m", (n * 2 for n in range(3))) == [0, 2, 4]
    with pytest.raises(UserErrorException, match="takes a list"):
        list_values("m", "text")


def test_rows_and_tables_are_json():
    assert row_json("m", {"a": 1, "b": np.float32(0.5)}) == '{"row": {"a": 1, "b": 0.5}}'
    assert table_jsons("m", {"x": np.array([1.0, 2.0]), "y": [1, 2]}) == ['{"table": {"x": [1.0, 2.0], "y": [1, 2]}}']
    with pytest.raises(AzureMLException, match="differ in length"):
        table_jsons("m", {"x": [1], "y": [1, 2]})


def test_a_very_long_table_is_several_records():
    texts = table_jsons("m", {"x": ["y" * 1000] * 3000})
    assert len(texts) == 4
    assert max(map(len, texts)) <= 1_000_000
