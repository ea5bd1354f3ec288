"""A query's comparisons as conditions on rows. Each can also name the runs it holds for, where an index knows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, false, func, not_, or_, select, true

from trainyard.contract.errors import InvalidQuery
from trainyard.contract.states import RunState
from trainyard.server.metrics import find as metrics
from trainyard.server.runs.params import HEAD, as_number
from trainyard.server.runs.query import All, Compare, Field, Node, Not, Number, Some
from trainyard.server.runs.tables import run_labels, run_params, runs

_ORDERING = ("<", "<=", ">", ">=")
_TEXT = ("=", "!=", "in", "like", "ilike", "contains", "is")
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)(?:\s+ago)?")
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_TIMES = ("created", "started", "ended")


@dataclass(frozen=True)
class Place:
    """What conditions are made for."""

    text: str  # the query, for errors
    workspace_id: str
    now_ns: int
    sqlite: bool
    experiments: Callable[[str], str | None]  # an experiment's id by its name; None: there is no such experiment
    more: Makers  # of conditions on kinds of fields that others know of


@dataclass(frozen=True)
class Condition:
    on: Callable[[ColumnElement[int]], ColumnElement[bool]]  # of a run's key; `runs` is at hand
    keys: Select[Any] | None = None  # the keys of the runs it holds for


Makers = Mapping[str, Callable[[Compare, Place], Condition]]
NO_MORE: Makers = {}


def condition(node: Node, place: Place) -> Condition:
    if isinstance(node, Compare):
        return _compare(node, place)
    if isinstance(node, Not):
        inner = condition(node.part, place)
        return Condition(lambda key: not_(inner.on(key)))
    parts = [condition(part, place) for part in node.parts]
    if isinstance(node, Some):
        return Condition(lambda key: or_(*(part.on(key) for part in parts)))
    return Condition(lambda key: and_(true(), *(part.on(key) for part in parts)))


def conjuncts(node: Node) -> list[Node]:
    """What must hold all at once."""
    return [each for part in node.parts for each in conjuncts(part)] if isinstance(node, All) else [node]


def _compare(compare: Compare, place: Place) -> Condition:
    makers = {"metric": _metric, "param": _param, "tag": _label, "property": _label, "attribute": _attribute}
    maker = {**makers, **place.more}.get(compare.field.kind)
    if maker is None:
        raise _wrong(compare, place, f"{compare.field.kind}s are asked about in MLflow's searches alone")
    made = maker(compare, place)
    if not compare.negated or compare.operator == "is":
        return made
    return Condition(lambda key: not_(made.on(key)))


def _metric(compare: Compare, place: Place) -> Condition:
    field = compare.field
    if compare.operator == "is":
        return _presence(compare, lambda key: metrics.has(key, field.name, "last", None))
    numeric = all(isinstance(value, float) for value in compare.values)
    if not numeric and compare.operator in _ORDERING:
        raise _wrong(compare, place, f"metric {field.name!r} is compared with a number, such as {field.name} < 0.1")
    statistic = field.statistic if numeric else "last_text"

    def test(column: Column[Any]) -> ColumnElement[bool]:
        return tested(column, compare, place, [float(v) if isinstance(v, float) else v for v in compare.values])

    return Condition(
        lambda key: metrics.has(key, field.name, statistic, test),
        metrics.runs_with(place.workspace_id, field.name, statistic, test) if numeric else None,
    )


def _param(compare: Compare, place: Place) -> Condition:
    name, columns = compare.field.name, run_params.c

    def has(key: ColumnElement[int], test: ColumnElement[bool] | None = None) -> ColumnElement[bool]:
        here = (columns.run_key == key) & (columns.name == name)
        return select(columns.run_key).where(here if test is None else here & test).exists()

    if compare.operator == "is":
        return _presence(compare, has)
    test = _param_test(compare, place)
    here = (columns.workspace_id == place.workspace_id) & (columns.name == name) & test
    return Condition(lambda key: has(key, test), select(columns.run_key).where(here))


def _param_test(compare: Compare, place: Place) -> ColumnElement[bool]:
    """Numbers are compared as numbers; so are texts that are numbers where an order is asked for."""
    columns = run_params.c
    if compare.operator in _ORDERING:
        number = as_number(_text(compare.values[0]))
        if number is None:
            return tested(columns.value, compare, place, [_text(compare.values[0])])
        return tested(columns.number, compare, place, [number])
    if all(isinstance(value, float) for value in compare.values) and compare.operator in ("=", "!=", "in"):
        return tested(columns.number, compare, place, [float(value or 0) for value in compare.values])
    texts = [_text(value) for value in compare.values]
    test = tested(columns.value, compare, place, texts)
    if compare.operator in ("=", "in"):
        test &= columns.head.in_([text[:HEAD] for text in texts])
    return test


def _label(compare: Compare, place: Place) -> Condition:
    columns, kind, name = run_labels.c, compare.field.kind, compare.field.name
    if compare.operator not in _TEXT:
        raise _wrong(compare, place, "tags and properties are text: use = != in like ilike contains, or `is null`")

    def has(key: ColumnElement[int], test: ColumnElement[bool] | None = None) -> ColumnElement[bool]:
        here = (columns.run_key == key) & (columns.kind == kind) & (columns.name == name)
        return select(columns.run_key).where(here if test is None else here & test).exists()

    if compare.operator == "is":
        return _presence(compare, has)
    texts = [_text(value) for value in compare.values]
    test = tested(columns.value, compare, place, texts)
    if compare.operator in ("=", "in"):
        test &= columns.head.in_([text[:HEAD] for text in texts])
    here = (columns.workspace_id == place.workspace_id) & (columns.kind == kind) & (columns.name == name) & test
    return Condition(lambda key: has(key, test), select(columns.run_key).where(here))


def _attribute(compare: Compare, place: Place) -> Condition:
    name = compare.field.name
    if name == "parent":
        return _parent(compare, place)
    column = column_of(compare.field, place)
    if compare.operator == "is":
        return Condition(lambda _key: column.is_not(None) if compare.negated else column.is_(None))
    if name in _TIMES or name == "duration":
        read = _duration if name == "duration" else _time
        values: list[Any] = [read(value, compare, place) for value in compare.values]
    elif name in ("number", "nodes", "attempt"):
        values = [_whole(value, compare, place) for value in compare.values]
    elif name == "status":
        values = [_state(value, compare, place) for value in compare.values]
    elif name == "experiment":
        return _experiment(compare, place)
    else:
        values = [_text(value) for value in compare.values]
        if compare.operator not in _TEXT:
            raise _wrong(compare, place, f"{name} is text: use = != in like ilike contains, or `is null`")
    test = tested(column, compare, place, values)
    keys = select(runs.c.key).where(runs.c.workspace_id == place.workspace_id, test) if name == "run_id" else None
    return Condition(lambda _key: test, keys)


def column_of(field: Field, place: Place) -> ColumnElement[Any]:
    """A run's attribute as a value of its row."""
    if field.name == "name":
        return func.coalesce(runs.c.display_name, runs.c.run_id)
    if field.name == "duration":
        return (func.coalesce(runs.c.ended_ns, place.now_ns) - runs.c.started_ns) / 1e9
    names = {"status": "state", "created": "created_ns", "started": "started_ns", "ended": "ended_ns"}
    names |= {"experiment": "experiment_id"}
    column: ColumnElement[Any] = runs.c[names.get(field.name, field.name)]
    return column


def _experiment(compare: Compare, place: Place) -> Condition:
    if compare.operator not in ("=", "!=", "in"):
        raise _wrong(compare, place, "an experiment is asked for by name: use =, != or in")
    ids = [found for value in compare.values if (found := place.experiments(_text(value))) is not None]
    test = runs.c.experiment_id.in_(ids) if ids else false()
    if compare.operator == "!=":
        return Condition(lambda _key: not_(test))
    return Condition(lambda _key: test, select(runs.c.key).where(test))


def _parent(compare: Compare, place: Place) -> Condition:
    if compare.operator == "is":
        return Condition(
            lambda _key: runs.c.parent_key.is_not(None) if compare.negated else runs.c.parent_key.is_(None)
        )
    if compare.operator not in ("=", "!=", "in"):
        raise _wrong(compare, place, "a parent is asked for by its run id: use =, != or in, or `is null`")
    other = runs.alias()
    ids = [_text(value) for value in compare.values]
    parents = select(other.c.key).where(other.c.workspace_id == place.workspace_id, other.c.run_id.in_(ids))
    test = runs.c.parent_key.in_(parents)
    if compare.operator == "!=":
        return Condition(lambda _key: not_(test) | runs.c.parent_key.is_(None))
    return Condition(lambda _key: test, select(runs.c.key).where(test))


def _presence(compare: Compare, has: Callable[[ColumnElement[int]], ColumnElement[bool]]) -> Condition:
    return Condition(lambda key: has(key) if compare.negated else not_(has(key)))


def tested(column: ColumnElement[Any], compare: Compare, place: Place, values: list[Any]) -> ColumnElement[bool]:
    operator, value = compare.operator, values[0]
    tests: dict[str, Callable[[], ColumnElement[bool]]] = {
        "=": lambda: column == value,
        "!=": lambda: column != value,
        "<": lambda: column < value,
        "<=": lambda: column <= value,
        ">": lambda: column > value,
        ">=": lambda: column >= value,
        "in": lambda: column.in_(values),
        "like": lambda: column.op("GLOB")(_glob(str(value))) if place.sqlite else column.like(str(value)),
        "ilike": lambda: column.ilike(str(value)),
        "contains": lambda: func.lower(column).contains(str(value).lower(), autoescape=True),
    }
    return tests[operator]()


def _glob(pattern: str) -> str:
    """LIKE's pattern in SQLite's GLOB, which minds upper and lower case as LIKE does elsewhere."""
    kept = re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", pattern)
    return kept.replace("%", "*").replace("_", "?")


def _text(value: str | float | None) -> str:
    return value.text if isinstance(value, Number) else str(value)


def _whole(value: str | float | None, compare: Compare, place: Place) -> int:
    if not isinstance(value, float) or not value.is_integer():
        raise _wrong(compare, place, f"{compare.field.name} is compared with a whole number")
    return int(value)


def _state(value: str | float | None, compare: Compare, place: Place) -> str:
    if compare.operator not in ("=", "!=", "in"):
        raise _wrong(compare, place, "a status is asked for with =, != or in")
    found = {state.value.lower(): state.value for state in RunState}.get(_text(value).lower())
    if found is None:
        raise _wrong(compare, place, f"{_text(value)!r} is no status. There are {', '.join(RunState)}")
    return found


def _time(value: str | float | None, compare: Compare, place: Place) -> int:
    """Nanoseconds of a date, of an age such as "30d ago", or of a number: seconds or milliseconds since 1970."""
    if isinstance(value, float):
        return int(value * (1e6 if value > 1e11 else 1e9))
    if ago := _AGO.fullmatch(_text(value).strip()):
        return place.now_ns - int(float(ago[1]) * _SECONDS[ago[2]] * 1e9)
    try:
        when = datetime.fromisoformat(_text(value))
    except ValueError as error:
        raise _wrong(
            compare, place, 'a time is a date such as "2026-05-01 12:00" or an age such as "30d ago"'
        ) from error
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1e9)


def _duration(value: str | float | None, compare: Compare, place: Place) -> float:
    if isinstance(value, float):
        return float(value)
    if given := _AGO.fullmatch(_text(value).strip()):
        return float(given[1]) * _SECONDS[given[2]]
    raise _wrong(compare, place, 'a duration is a number of seconds, or such as "10 min" or "2h"')


def _wrong(compare: Compare, place: Place, what: str) -> InvalidQuery:
    return InvalidQuery(place.text, compare.at, what)
