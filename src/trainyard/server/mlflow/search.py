"""MLflow's filters in our language of search: its words for a run's state, and what it keeps as tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trainyard.contract.errors import InvalidQuery
from trainyard.contract.search import RunSearch
from trainyard.server.mlflow import runs as adapted
from trainyard.server.mlflow.experiments import by_id
from trainyard.server.mlflow.inputs import of_dataset
from trainyard.server.mlflow.wire import Call
from trainyard.server.runs.query import All, Compare, Field, Node, Not, Order, Some, parse, parse_order
from trainyard.server.runs.search import MAX_PAGE, find_page

_MOST = 50_000  # what MLflow's clients may ask for; they take shorter pages
_NEWEST_FIRST = Order(Field("attribute", "created"), descending=True)
_ARCHIVED = {"ACTIVE_ONLY": "no", "DELETED_ONLY": "only", "ALL": "all"}
_TAGS = {
    adapted.NAME: Field("attribute", "name"),
    adapted.USER: Field("attribute", "created_by"),
    adapted.PARENT: Field("attribute", "parent"),
    adapted.NOTE: Field("attribute", "description"),
}


def search(call: Call) -> dict[str, Any]:
    text = call.text("filter", default="")
    node = _translated(parse(text), text)
    orders = [_order(parse_order(order)) for order in call.items("order_by")] or [_NEWEST_FIRST]
    limit = min(call.whole("max_results", MAX_PAGE, _MOST), MAX_PAGE)
    wanted = [str(each) for each in call.items("experiment_ids")]
    archived = _ARCHIVED.get(call.text("run_view_type", default="ACTIVE_ONLY"), "no")
    with call.context.db.write() if "0" in wanted else call.context.db.read() as tx:
        names = tuple(by_id(tx, call, each).name for each in wanted)
    if not names:
        return {"runs": []}
    asked = RunSearch(text, names, (), limit, call.maybe("page_token"), None, archived)
    with call.context.db.read() as tx:
        page = find_page(tx, call.context, call.workspace_id, asked, node, orders, {"dataset": of_dataset})
        return {"runs": adapted.shown(tx, call, page.rows), "next_page_token": page.next}


def _translated(node: Node, text: str) -> Node:
    if isinstance(node, Not):
        return Not(_translated(node.part, text))
    if isinstance(node, All):
        return All(tuple(_translated(part, text) for part in node.parts))
    if isinstance(node, Some):
        return Some(tuple(_translated(part, text) for part in node.parts))
    return _compared(node, text)


def _compared(compare: Compare, text: str) -> Compare:
    field = compare.field
    if field.kind == "tag" and field.name in _TAGS:
        return replace(compare, field=_TAGS[field.name])
    if field == Field("attribute", "started"):
        return replace(compare, field=Field("attribute", "created"))  # of MLflow's own runs it is the same
    if field != Field("attribute", "status"):
        return compare
    if compare.operator not in ("=", "!=", "in"):
        raise InvalidQuery(text, compare.at, "a status is asked for with =, != or in")
    states: list[str | float | None] = []
    for value in compare.values:
        known = adapted.STATES.get(str(value).upper())
        states += [state.value for state in known] if known else [value]
    return replace(compare, operator="in", values=tuple(states), negated=compare.negated or compare.operator == "!=")


def _order(order: Order) -> Order:
    if order.field == Field("attribute", "started"):
        return replace(order, field=Field("attribute", "created"))
    if order.field.kind == "tag" and order.field.name in _TAGS:
        return replace(order, field=_TAGS[order.field.name])
    return order
