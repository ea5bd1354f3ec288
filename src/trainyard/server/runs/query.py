"""The language in which runs are looked for: text to a tree of comparisons. Pure.

    metrics.loss < 0.1 and tags.team = "vision"
    status in ("Completed", "Failed") and not (params.lr > 0.01 or created < "30d ago")

What MLflow's clients send is part of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainyard.contract.errors import InvalidQuery, InvalidRequest

STATISTICS = ("last", "min", "max", "count")
_SPACES = {
    **dict.fromkeys(("metrics", "metric"), "metric"),
    **dict.fromkeys(("params", "param", "parameters", "parameter"), "param"),
    **dict.fromkeys(("tags", "tag"), "tag"),
    **dict.fromkeys(("properties", "property"), "property"),
    **dict.fromkeys(("attributes", "attribute", "attr", "run"), "attribute"),
    **dict.fromkeys(("datasets", "dataset"), "dataset"),  # MLflow's; see server/mlflow/search.py
}
# what a run has besides: how it may be called → what it is
ATTRIBUTES = {
    "status": "status",
    "state": "status",
    "run_id": "run_id",
    "id": "run_id",
    "name": "name",
    "run_name": "name",
    "display_name": "name",
    "experiment": "experiment",
    "experiment_id": "experiment_id",
    "type": "type",
    "target": "target",
    "number": "number",
    "nodes": "nodes",
    "attempt": "attempt",
    "created_by": "created_by",
    "user": "created_by",
    "user_id": "created_by",
    "description": "description",
    "parent": "parent",
    "parent_run_id": "parent",
    "created": "created",
    "creation_time": "created",
    "last_update_time": "created",
    "started": "started",
    "start_time": "started",
    "ended": "ended",
    "end_time": "ended",
    "duration": "duration",
}
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "like", "ilike", "in", "is", "contains")
_SAME = {"==": "=", "<>": "!="}
_DEEPEST = 50
_LONGEST = 20_000


class Number(float):
    """A number as it was written: a tag that is compared with 5 is text."""

    def __new__(cls, text: str) -> Number:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


@dataclass(frozen=True)
class Field:
    kind: str  # metric, param, tag, property, attribute
    name: str
    statistic: str = "last"  # of a metric


@dataclass(frozen=True)
class Compare:
    field: Field
    operator: str  # one of _OPERATORS
    values: tuple[str | float | None, ...]  # one, or those of `in`; None with `is`: it is not there
    negated: bool = False
    at: int = 0  # where in the text it stands


@dataclass(frozen=True)
class Not:
    part: Node


@dataclass(frozen=True)
class All:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Some:
    parts: tuple[Node, ...]


Node = Compare | Not | All | Some


@dataclass(frozen=True)
class Order:
    field: Field
    descending: bool


@dataclass(frozen=True)
class _Token:
    kind: str  # text, number, name, mark, end
    value: str
    at: int


_LEXER = re.compile(
    r"""\s*(?:
    (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
  | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
  | (?P<name>[^\W\d][\w./-]*)
  | (?P<mark><=|>=|!=|<>|==|[=<>(),.])
    )""",
    re.VERBOSE,
)


def parse(text: str, names: Sequence[str] = ()) -> Node:
    """The tree of a query; an empty one finds everything. `names` are attributes of something that is no run."""
    if len(text) > _LONGEST:
        raise InvalidRequest(f"A query has at most {_LONGEST} characters. Make it shorter.")
    parser = _Parser(text, names)
    if parser.now.kind == "end":
        return All(())
    found = parser.some(0)
    if parser.now.kind != "end":
        raise parser.wrong("'and', 'or' or the end is expected")
    return found


def parse_order(text: str) -> Order:
    """`metrics.loss.min asc`, `created desc`; ascending when it does not say."""
    parser = _Parser(text)
    field = parser.field()
    word = parser.take().value.lower() if parser.now.kind == "name" else "asc"
    if word not in ("asc", "desc") or parser.now.kind != "end":
        raise InvalidQuery(text, 0, "an order is a field and `asc` or `desc`, such as `metrics.loss.min asc`")
    if field.kind == "dataset":
        raise InvalidQuery(text, 0, "runs are not ordered by their datasets")
    return Order(field, word == "desc")


class _Parser:
    def __init__(self, text: str, names: Sequence[str] = ()) -> None:
        self._text = text
        self._names = {name: name for name in names} or ATTRIBUTES
        self._tokens = _tokens(text)
        self._next = 0

    @property
    def now(self) -> _Token:
        return self._tokens[self._next]

    def take(self) -> _Token:
        token = self.now
        self._next += 1
        return token

    def wrong(self, what: str) -> InvalidQuery:
        return InvalidQuery(self._text, self.now.at, what)

    def some(self, depth: int) -> Node:
        parts = [self._all(depth)]
        while self._word("or"):
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _all(self, depth: int) -> Node:
        parts = [self._one(depth)]
        while self._word("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.wrong(f"parentheses go at most {_DEEPEST} deep")
        if self._word("not"):
            return Not(self._one(depth + 1))
        if self._mark("("):
            inner = self.some(depth + 1)
            if not self._mark(")"):
                raise self.wrong("')' is missing")
            return inner
        return self._comparison()

    def field(self) -> Field:
        token = self.take()
        if token.kind not in ("name", "text"):
            self._next -= 1
            raise self.wrong("a field such as metrics.loss, params.lr, tags.team or status is expected")
        first, dot, rest = token.value.partition(".")
        space = _SPACES.get(first.lower()) if token.kind == "name" else None
        if space is None:
            return self._attribute(token.value, token.at)
        if not dot:
            return self._attribute(token.value, token.at)
        if not rest:  # metrics."a name with spaces"
            quoted = self.take()
            if quoted.kind != "text":
                raise InvalidQuery(self._text, quoted.at, f"a name is expected after {first}.")
            return self._in_space(space, quoted.value, self.take().value if self._mark(".") else "last", quoted.at)
        statistic = "last"
        head, last_dot, tail = rest.rpartition(".")
        if space == "metric" and last_dot and head and tail in STATISTICS:
            rest, statistic = head, tail
        return self._in_space(space, rest, statistic, token.at)

    def _in_space(self, space: str, name: str, statistic: str, at: int) -> Field:
        if statistic not in STATISTICS:
            raise InvalidQuery(self._text, at, f"of a metric there is {', '.join(STATISTICS)}, not {statistic!r}")
        return self._attribute(name, at) if space == "attribute" else Field(space, name, statistic)

    def _attribute(self, name: str, at: int) -> Field:
        if (known := self._names.get(name.lower())) is None:
            said = ", ".join(sorted(set(self._names.values())))
            raise InvalidQuery(
                self._text,
                at,
                f"there is no field {name!r}. There are metrics.*, params.*, tags.*, properties.*, {said}",
            )
        return Field("attribute", known)

    def _comparison(self) -> Node:
        at = self.now.at
        field = self.field()
        negated = self._word("not")
        token = self.take()
        operator = _SAME.get(token.value.lower(), token.value.lower())
        if operator not in _OPERATORS or token.kind not in ("mark", "name"):
            self._next -= 1
            raise self.wrong("an operator is expected: = != < <= > >= like ilike contains in is")
        if operator == "is":
            negated = negated or self._word("not")
            if not self._word("null"):
                raise self.wrong("`is` is followed by `null` or `not null`")
            return Compare(field, "is", (None,), negated, at)
        if negated and operator not in ("in", "like", "ilike", "contains"):
            raise self.wrong("`not` stands before in, like and contains, or before a whole comparison")
        values = self._several() if operator == "in" else (self._value(),)
        return Compare(field, operator, values, negated, at)

    def _several(self) -> tuple[str | float | None, ...]:
        if not self._mark("("):
            raise self.wrong("`in` is followed by values in parentheses")
        values = [self._value()]
        while self._mark(","):
            values.append(self._value())
        if not self._mark(")"):
            raise self.wrong("')' is missing")
        return tuple(values)

    def _value(self) -> str | float:
        token = self.take()
        if token.kind == "number":
            return Number(token.value)
        if token.kind == "text":
            return token.value
        if token.kind == "name" and token.value.lower() not in ("and", "or", "not", "null"):
            return Number("inf") if token.value.lower() in ("inf", "infinity") else token.value
        self._next -= 1
        raise self.wrong('a value is expected: a number, or text in quotes such as "vision"')

    def _word(self, word: str) -> bool:
        if self.now.kind == "name" and self.now.value.lower() == word:
            self._next += 1
            return True
        return False

    def _mark(self, mark: str) -> bool:
        if self.now.kind == "mark" and self.now.value == mark:
            self._next += 1
            return True
        return False


def _tokens(text: str) -> list[_Token]:
    found = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _LEXER.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise InvalidQuery(text, start, "this character has no meaning here (text goes in quotes)")
        kind = str(match.lastgroup)
        value = match[kind]
        if kind == "text":
            value = value[1:-1] if value[0] == "`" else re.sub(r"\\(.)", r"\1", value[1:-1])
        found.append(_Token(kind, value, match.start(kind)))
        at = match.end()
    return [*found, _Token("end", "", len(text))]
