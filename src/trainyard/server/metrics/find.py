"""Conditions and orders over metrics' summaries, for whoever looks for runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, select

from trainyard.server.metrics.tables import metrics

Test = Callable[[Column[Any]], ColumnElement[bool]]


def has(run_key: ColumnElement[int], name: str, statistic: str, test: Test | None) -> ColumnElement[bool]:
    """Whether the run of that key has this metric, with a statistic that passes the test."""
    here = (metrics.c.run_key == run_key) & (metrics.c.name == name)
    if test is not None:
        here &= test(metrics.c[statistic])
    return select(metrics.c.key).where(here).exists()


def runs_with(workspace_id: str, name: str, statistic: str, test: Test | None) -> Select[Any]:
    """The keys of all such runs of a workspace. Below zero is what agents measured, which nobody logged."""
    here = (metrics.c.workspace_id == workspace_id) & (metrics.c.name == name) & (metrics.c.run_key > 0)
    if test is not None:
        here &= test(metrics.c[statistic])
    return select(metrics.c.run_key).where(here)


def value_of(run_key: ColumnElement[int], name: str, statistic: str) -> ColumnElement[float]:
    """The statistic as a value, NULL where the run has no such metric."""
    return select(metrics.c[statistic]).where(metrics.c.run_key == run_key, metrics.c.name == name).scalar_subquery()


def walk(
    workspace_id: str,
    name: str,
    statistic: str,
    *,
    descending: bool,
    behind: tuple[float, int] | None,
    such: Callable[[ColumnElement[int]], ColumnElement[bool]],
) -> Select[Any]:
    """Run keys and values along the index, best first; `behind` is the last one of the page before. `such` says of a
    run's key whether it is wanted."""
    value, key = metrics.c[statistic], metrics.c.run_key
    here = (metrics.c.workspace_id == workspace_id) & (metrics.c.name == name) & value.is_not(None) & (key > 0)
    if behind is not None:
        last, last_key = behind
        further = value < last if descending else value > last
        same = (value == last) & (key < last_key if descending else key > last_key)
        bound = value <= last if descending else value >= last  # what an index can begin at
        here &= bound & (further | same)
    order = (value.desc(), key.desc()) if descending else (value.asc(), key.asc())
    return select(key, value).where(here, such(key)).order_by(*order)
