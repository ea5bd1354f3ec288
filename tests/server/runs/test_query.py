"""The language of search: what reads as what, and what does not read."""

from __future__ import annotations

import pytest

from trainyard.contract.errors import InvalidQuery
from trainyard.server.runs.query import All, Compare, Field, Not, Order, Some, parse, parse_order


def compare(kind: str, name: str, operator: str, *values: object, at: int = 0, **more: object) -> Compare:
    statistic = more.pop("statistic", "last")
    return Compare(Field(kind, name, statistic), operator, values, at=at, **more)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("metrics.loss", Field("metric", "loss")),
        ("metric.loss.min", Field("metric", "loss", "min")),
        ("metrics.val/acc.top-1.max", Field("metric", "val/acc.top-1", "max")),
        ('metrics."loss.min"', Field("metric", "loss.min")),
        ('metrics."val loss".max', Field("metric", "val loss", "max")),
        ("metrics.`val loss`", Field("metric", "val loss")),
        ("params.learning-rate", Field("param", "learning-rate")),
        ("parameters.lr", Field("param", "lr")),
        ("tags.mlflow.runName", Field("tag", "mlflow.runName")),
        ("properties.azureml.git.commit", Field("property", "azureml.git.commit")),
        ("attributes.run_name", Field("attribute", "name")),
        ("state", Field("attribute", "status")),
        ("start_time", Field("attribute", "started")),
    ],
)
def test_fields(text: str, field: Field) -> None:
    assert parse(f"{text} = 1").field == field
    assert parse_order(f"{text} DESC") == Order(field, True)
    assert parse_order(text) == Order(field, False)


def test_and_binds_closer_than_or_and_not_closest() -> None:
    found = parse("metrics.a < 1 or not tags.b = 'x' and status = Failed")
    assert found == Some(
        (
            compare("metric", "a", "<", 1.0),
            All((Not(compare("tag", "b", "=", "x", at=21)), compare("attribute", "status", "=", "Failed", at=38))),
        )
    )
    assert parse("(metrics.a < 1 or metrics.a > 2) and number = 3") == All(
        (
            Some((compare("metric", "a", "<", 1.0, at=1), compare("metric", "a", ">", 2.0, at=18))),
            compare("attribute", "number", "=", 3.0, at=37),
        )
    )


@pytest.mark.parametrize(
    ("text", "operator", "values", "negated"),
    [
        ("tags.a == 'it''s'", None, None, None),
        ("tags.a = 'it\\'s'", "=", ("it's",), False),
        ('tags.a <> "x"', "!=", ("x",), False),
        ("tags.a not in ('x', \"y\")", "in", ("x", "y"), True),
        ("tags.a ILIKE 'x%'", "ilike", ("x%",), False),
        ("tags.a not contains x", "contains", ("x",), True),
        ("tags.a is null", "is", (None,), False),
        ("tags.a IS NOT NULL", "is", (None,), True),
        ("metrics.a >= -1.5e-3", ">=", (-0.0015,), False),
        ("metrics.a < inf", "<", (float("inf"),), False),
    ],
)
def test_comparisons(text: str, operator: str | None, values: object, negated: bool | None) -> None:
    if operator is None:
        with pytest.raises(InvalidQuery):
            parse(text)
        return
    found = parse(text)
    assert (found.operator, found.values, found.negated) == (operator, values, negated)


def test_an_empty_query_finds_everything() -> None:
    assert parse("") == parse("  \n") == All(())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metrics.loss <", "at its end: a value is expected"),
        ("metrics.loss 0.1", "at '0.1' (character 14): an operator is expected"),
        ("metrics.loss < 0.1 tags.a = 1", "at 'tags.a = 1' (character 20): 'and', 'or' or the end"),
        ("(metrics.loss < 0.1", "at its end: ')' is missing"),
        ("lss < 0.1", "there is no field 'lss'"),
        ("metrics.loss < 0.1; drop", "at '; drop' (character 19): this character has no meaning"),
        ("tags.a in 'x'", "`in` is followed by values in parentheses"),
        ('metrics."a".mean < 1', "there is last, min, max, count, not 'mean'"),
        ("not", "a field such as"),
        ("(" * 60 + "number = 1" + ")" * 60, "parentheses go at most 50 deep"),
        ("tags.a not = 1", "`not` stands before"),
    ],
)
def test_what_does_not_read_is_told_where(text: str, said: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse(text)
    assert said in refused.value.message
