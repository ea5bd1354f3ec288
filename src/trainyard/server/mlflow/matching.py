"""MLflow's filters over things that are few: experiments, logged models, registered models and their versions."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

from trainyard.contract.errors import InvalidRequest
from trainyard.server.runs.query import All, Compare, Node, Not, parse

# What clients ask about everything, and what is meant where nothing is said.
_MEANT = {"mlflow.prompt.is_prompt": "false"}


def fits(text: str, fields: Mapping[str, str | None], tags: Mapping[str, str]) -> bool:
    """Whether something of these fields and tags is what a filter asks for."""
    return _fits(parse(text, names=tuple(fields)), fields, tags)


def holds(operator: str, value: str, wanted: list[Any]) -> bool:
    pattern = str(wanted[0]).replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
    pattern = pattern.replace("%", "*").replace("_", "?")
    tests: dict[str, Callable[[], bool]] = {
        "=": lambda: value == wanted[0],
        "!=": lambda: value != wanted[0],
        "in": lambda: value in wanted,
        "contains": lambda: str(wanted[0]).lower() in value.lower(),
        "like": lambda: fnmatch.fnmatchcase(value, pattern),
        "ilike": lambda: fnmatch.fnmatchcase(value.lower(), pattern.lower()),
    }
    if operator not in tests:
        raise InvalidRequest(f"{operator} is not for names and tags. Use = != in like ilike.")
    return tests[operator]()


def _fits(node: Node, fields: Mapping[str, str | None], tags: Mapping[str, str]) -> bool:
    if isinstance(node, Not):
        return not _fits(node.part, fields, tags)
    if isinstance(node, Compare):
        known = tags if node.field.kind == "tag" else fields
        value = known.get(node.field.name, _MEANT.get(node.field.name))
        wanted = [getattr(each, "text", each) for each in node.values]
        if node.operator == "is":
            return (value is None) is not node.negated
        return value is not None and holds(node.operator, value, wanted) is not node.negated
    parts = (_fits(part, fields, tags) for part in node.parts)
    return all(parts) if isinstance(node, All) else any(parts)
