"""Looks for runs, a page at a time, in a time that does not grow with how many there are.

Two ways lead to a page. Where some part of the query holds for few runs, an index names them, and only they are looked
at. Where every part holds for many, the runs are walked in the order that is asked for (along the index of a metric, or
newest first) until the page is full, which is soon, because many fit.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, select, true

from trainyard.contract.errors import InvalidRequest, UnknownExperiment
from trainyard.contract.metrics import MetricSummary
from trainyard.contract.search import FoundRun, RunSearch, SearchPage
from trainyard.server.context import Context
from trainyard.server.metrics import find as metrics
from trainyard.server.metrics.service import summaries
from trainyard.server.runs.conditions import NO_MORE, Condition, Makers, Place, column_of, condition, conjuncts
from trainyard.server.runs.params import params_of
from trainyard.server.runs.query import Compare, Field, Node, Not, Order, parse, parse_order
from trainyard.server.runs.records import RunRow, to_records
from trainyard.server.runs.tables import run_labels, run_params, runs
from trainyard.server.workspaces import service as workspaces

MAX_PAGE = 1000
FEW = 2000  # runs that are quicker looked at one by one than found by walking
_NEWEST_FIRST = Order(Field("attribute", "created"), descending=True)
_MOST_ORDERS = 10


def search_runs(tx: Connection, context: Context, workspace_id: str, asked: RunSearch) -> SearchPage:
    """One page. `asked` says it all; see contract/search.py."""
    node = parse(asked.query)
    orders = [parse_order(text) for text in asked.order_by[:_MOST_ORDERS]] or [_NEWEST_FIRST]
    page = find_page(tx, context, workspace_id, asked, node, orders)
    named = [field.name for field in _fields(node, orders) if field.kind == "metric"]
    shown = None if asked.metrics is None else [*dict.fromkeys([*named, *asked.metrics])]
    return SearchPage(tuple(described(tx, context, page.rows, shown)), page.next)


@dataclass(frozen=True)
class Page:
    rows: list[RunRow]
    next: str | None


def find_page(
    tx: Connection,
    context: Context,
    workspace_id: str,
    asked: RunSearch,
    node: Node,
    orders: Sequence[Order],
    more: Makers = NO_MORE,
) -> Page:
    """`more` makes conditions of what only the caller knows of runs."""
    limit = max(1, min(asked.limit, MAX_PAGE))
    find = _Find(tx, context, workspace_id, asked, node, more)
    after = _cursor(asked.page)
    order = orders[0]
    if len(orders) == 1 and order == _NEWEST_FIRST:
        keys, following = find.newest_first(limit, after)
    elif len(orders) == 1 and order.field.kind == "metric" and order.field.statistic != "count":
        keys, following = find.by_metric(order, limit, after)
    else:
        keys, following = find.in_order(orders, limit, after)
    by_key = {row.key: row for row in (RunRow.of(row) for row in tx.execute(select(runs).where(runs.c.key.in_(keys))))}
    return Page([by_key[key] for key in keys if key in by_key], _token(following))


def ended_keys(
    tx: Connection, context: Context, workspace_id: str, asked: RunSearch, ended_by_ns: int, most: int
) -> list[int]:
    """Keys of the runs a search finds that had ended by then, newest first, at most `most`."""
    ended = runs.c.ended_ns <= ended_by_ns  # of a run that has not ended it is nothing, which fits no comparison
    find = _Find(tx, context, workspace_id, asked, parse(asked.query), fixed=(ended,))
    return find.newest_first(most, None)[0]


def described(tx: Connection, context: Context, rows: Sequence[RunRow], names: Sequence[str] | None) -> list[FoundRun]:
    """Rows as they are shown; `names` are the metrics whose summaries come along (None: all)."""
    keys = [row.key for row in rows]
    records = to_records(tx, rows, context.settings.folder("spool"))
    params = params_of(tx, keys)
    shown: dict[int, list[MetricSummary]] = {key: [] for key in keys}
    if names is None or names:
        shown = summaries(tx, keys, names)
    return [
        FoundRun(record, {param.name: param.value for param in params[key]}, tuple(shown[key]))
        for key, record in zip(keys, records, strict=True)
    ]


class _Find:
    """One search within one transaction."""

    def __init__(
        self,
        tx: Connection,
        context: Context,
        workspace_id: str,
        asked: RunSearch,
        node: Node,
        more: Makers = NO_MORE,
        fixed: Sequence[ColumnElement[bool]] = (),
    ) -> None:
        self._tx = tx
        self._workspace_id = workspace_id
        self._place = Place(
            asked.query, workspace_id, context.clock(), tx.dialect.name == "sqlite", self._experiment_id, more
        )
        self._conditions = [condition(part, self._place) for part in conjuncts(node)]
        if asked.experiments:
            self._conditions.append(self._of_experiments(asked.experiments))
        self._fixed = [*_ARCHIVED[_known(asked.archived)], *fixed]
        self._few = self._few_keys()

    def newest_first(self, limit: int, after: Any) -> tuple[list[int], Any]:
        wanted = self._chosen(select(runs.c.key))
        if after is not None:
            wanted = wanted.where(runs.c.key < int(after["k"]))
        keys = list(self._tx.execute(wanted.order_by(runs.c.key.desc()).limit(limit + 1)).scalars())
        return keys[:limit], {"k": keys[limit - 1]} if len(keys) > limit else None

    def by_metric(self, order: Order, limit: int, after: Any) -> tuple[list[int], Any]:
        """Runs that have the metric first, the others behind them, newest first."""
        found: list[tuple[int, float | None]] = []
        if after is None or "v" in after:
            behind = (float(after["v"]), int(after["k"])) if after is not None else None
            rows = self._having(order, limit + 1, behind)
            found = [(key, value) for key, value in rows]
        if len(found) <= limit:
            below = int(after["k"]) if after is not None and "v" not in after else None
            found += [(key, None) for key in self._without(order.field, limit + 1 - len(found), below)]
        keys = [key for key, _ in found[:limit]]
        if len(found) <= limit:
            return keys, None
        last_key, last_value = found[limit - 1]
        return keys, {"k": last_key} if last_value is None else {"k": last_key, "v": last_value}

    def in_order(self, orders: Sequence[Order], limit: int, after: Any) -> tuple[list[int], Any]:
        """Any other order: all that fit are sorted."""
        values = [self._value(order.field) for order in orders]
        by = []
        for order, value in zip(orders, values, strict=True):
            by += [value.is_(None), value.desc() if order.descending else value.asc()]
        skip = int(after["o"]) if after is not None else 0
        wanted = self._chosen(select(runs.c.key)).order_by(*by, runs.c.key.desc())
        keys = list(self._tx.execute(wanted.offset(skip).limit(limit + 1)).scalars())
        return keys[:limit], {"o": skip + limit} if len(keys) > limit else None

    def _having(self, order: Order, limit: int, behind: tuple[float, int] | None) -> list[Any]:
        name, statistic = order.field.name, order.field.statistic
        if self._few is None:
            walk = metrics.walk(
                self._workspace_id, name, statistic, descending=order.descending, behind=behind, such=self._is_wanted
            )
            return list(self._tx.execute(walk.limit(limit)))
        value = metrics.value_of(runs.c.key, name, statistic).label("value")
        inner = self._chosen(select(runs.c.key, value)).subquery()
        chosen = select(inner.c.key, inner.c.value).where(inner.c.value.is_not(None))
        if behind is not None:
            last, last_key = behind
            further = inner.c.value < last if order.descending else inner.c.value > last
            same = (inner.c.value == last) & (inner.c.key < last_key if order.descending else inner.c.key > last_key)
            chosen = chosen.where(further | same)
        if order.descending:
            return list(self._tx.execute(chosen.order_by(inner.c.value.desc(), inner.c.key.desc()).limit(limit)))
        return list(self._tx.execute(chosen.order_by(inner.c.value, inner.c.key).limit(limit)))

    def _without(self, field: Field, limit: int, below: int | None) -> list[int]:
        lacks = ~metrics.has(runs.c.key, field.name, field.statistic, lambda value: value.is_not(None))
        wanted = self._chosen(select(runs.c.key)).where(lacks)
        if below is not None:
            wanted = wanted.where(runs.c.key < below)
        return list(self._tx.execute(wanted.order_by(runs.c.key.desc()).limit(limit)).scalars())

    def _chosen(self, wanted: Select[Any]) -> Select[Any]:
        wanted = wanted.where(runs.c.workspace_id == self._workspace_id, *self._fixed)
        if self._few is not None:
            wanted = wanted.where(runs.c.key.in_(self._few))
        return wanted.where(*(each.on(runs.c.key) for each in self._conditions))

    def _is_wanted(self, key: ColumnElement[int]) -> ColumnElement[bool]:
        """Of a key from elsewhere. Asked of each row alone, so that no plan begins with the runs."""
        if not self._conditions and not self._fixed:
            return true()
        holds = and_(runs.c.key == key, *self._fixed, *(each.on(runs.c.key) for each in self._conditions))
        return select(runs.c.key).where(holds).exists()

    def _few_keys(self) -> list[int] | None:
        """The runs that the narrowest part of the query holds for, when they are few."""
        best: list[int] | None = None
        for each in self._conditions:
            if each.keys is not None:
                most = FEW if best is None else len(best)
                keys: list[int] = list(self._tx.execute(each.keys.limit(most + 1)).scalars())
                best = keys if len(keys) <= most else best
        return best

    def _value(self, field: Field) -> ColumnElement[Any]:
        if field.kind == "metric":
            return metrics.value_of(runs.c.key, field.name, field.statistic)
        if field.kind == "attribute":
            return column_of(field, self._place)
        if field.kind == "param":
            here = (run_params.c.run_key == runs.c.key) & (run_params.c.name == field.name)
            return select(run_params.c.number).where(here).scalar_subquery()
        here = (run_labels.c.run_key == runs.c.key) & (run_labels.c.name == field.name)
        return select(run_labels.c.value).where(here, run_labels.c.kind == field.kind).scalar_subquery()

    def _of_experiments(self, names: Sequence[str]) -> Condition:
        ids = [workspaces.get_experiment(self._tx, self._workspace_id, name).id for name in names]
        test = runs.c.experiment_id.in_(ids)
        return Condition(lambda _key: test, select(runs.c.key).where(test))

    def _experiment_id(self, name: str) -> str | None:
        try:
            return workspaces.get_experiment(self._tx, self._workspace_id, name).id
        except UnknownExperiment:
            return None


_ARCHIVED: dict[str, tuple[ColumnElement[bool], ...]] = {
    "no": (runs.c.archived_ns.is_(None),),
    "only": (runs.c.archived_ns.is_not(None),),
    "all": (),
}


def _known(archived: str) -> str:
    if archived not in _ARCHIVED:
        raise InvalidRequest(f"archived is {archived!r}; it is one of {', '.join(_ARCHIVED)}.")
    return archived


def _fields(node: Node, orders: Sequence[Order]) -> list[Field]:
    def of(part: Node) -> list[Field]:
        if isinstance(part, Compare):
            return [part.field]
        inner = (part.part,) if isinstance(part, Not) else part.parts
        return [field for each in inner for field in of(each)]

    return [*of(node), *(order.field for order in orders)]


def _cursor(page: str | None) -> dict[str, Any] | None:
    if not page:
        return None
    try:
        found = json.loads(base64.urlsafe_b64decode(page.encode()))
        cursor = {name: float(value) if name == "v" else int(value) for name, value in found.items()}
        if not {"k", "o"} & cursor.keys():
            raise ValueError("it says nothing of where to go on")
        return cursor
    except (ValueError, AttributeError, TypeError, OverflowError) as error:
        raise InvalidRequest("This is no page of a search. Pass the `next` of the page before, as it is.") from error


def _token(cursor: dict[str, Any] | None) -> str | None:
    return None if cursor is None else base64.urlsafe_b64encode(json.dumps(cursor).encode()).decode()
