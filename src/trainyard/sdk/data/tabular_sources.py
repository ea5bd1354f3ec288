"""Which files of a table have to be here to answer what is asked of it, and getting those."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trainyard.contract.data import DatasetDefinition
from trainyard.contract.errors import DataRefused
from trainyard.sdk.data.partitions import keys_of, spans_of, values_of
from trainyard.sdk.data.tabular_plan import Plan, columns_in

if TYPE_CHECKING:
    from trainyard.blobs.depots.cache import DataCache
    from trainyard.blobs.depots.resolve import Entry

_AT_ONCE = 8  # files, after the first, of a table of which only some rows are wanted


@contextlib.contextmanager
def files_here(
    cache: DataCache, entries: Sequence[Entry], plan: Plan
) -> Iterator[Iterator[Sequence[tuple[Entry, str]]]]:
    """The files with their paths on this machine, in parts. Where rows are few, the next part of what has to travel
    comes only when it is asked for."""
    afar = any(entry.depot.local(entry.file.path) is None for entry in entries)
    with contextlib.ExitStack() as held:

        def parts() -> Iterator[Sequence[tuple[Entry, str]]]:
            rest, several = list(entries), 1 if plan.is_short and afar else len(entries)
            while rest:
                part, rest, several = rest[:several], rest[several:], _AT_ONCE
                yield list(zip(part, held.enter_context(cache.paths(part)), strict=True))

        yield parts()


def wanted_entries(entries: Sequence[Entry], definition: DatasetDefinition, plan: Plan) -> list[Entry]:
    """Without the files whose paths alone say that no row of theirs is chosen. One stays, for the columns' sake."""
    form = definition.traits.get("partition_format")
    if form is None:
        return list(entries)
    tests = [test for step in plan.conditions if (test := _of_paths(step, definition, form)) is not None]
    return [entry for entry in entries if all(test(entry.file.path) for test in tests)] or list(entries[:1])


def _of_paths(step: dict[str, Any], definition: DatasetDefinition, form: str) -> Callable[[str], bool] | None:
    """Whether a file of such a path may have rows that the step keeps; None where paths say nothing about it."""
    spans, columns = spans_of(form), columns_in(step)
    if step["op"] == "time":
        coarse = definition.traits.get("partition_timestamp")
        if definition.traits.get("timestamp") not in columns or coarse not in spans:
            return None
        return lambda path: _may_hold(step, values_of(form, path)[coarse], spans[coarse])
    as_text = set(keys_of(form)) - set(spans) - set(definition.reader.get("types", {}))
    if not columns or not columns <= as_text:
        return None
    return lambda path: _may_be(step["expression"], values_of(form, path))


def _may_hold(step: dict[str, Any], begin: datetime.datetime, span: datetime.timedelta) -> bool:
    """Whether times from `begin` on, over `span`, meet what lies between the step's bounds."""
    after, before = (datetime.datetime.fromisoformat(it) if it else None for it in (step["after"], step["before"]))
    return (after is None or begin + span > after) and (before is None or begin <= before)


def _may_be(expression: Any, values: dict[str, Any]) -> bool:
    from trainyard.blobs.depots.resolve import holds

    try:
        return bool(holds(expression, values.__getitem__))
    except DataRefused:  # what cannot be said of a path is said of the rows
        return True
