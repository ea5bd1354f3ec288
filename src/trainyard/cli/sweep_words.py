"""Search spaces and policies as they are written in a shell: `lr=loguniform(-6,-1)`, `batch=16,32,64`, `median()`.
Nothing is evaluated: a name, and literals in parentheses."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from trainyard.contract.errors import InvalidRequest
from trainyard.contract.sweeps import CHOICE, NUMBERS, option

# A policy's name here, its class, and how it is written.
POLICIES = {
    "bandit": ("BanditPolicy", "bandit(slack_factor=0.1)"),
    "median": ("MedianStoppingPolicy", "median"),
    "truncation": ("TruncationSelectionPolicy", "truncation(20)"),
    "asha": ("AshaPolicy", "asha(min_intervals=1)"),
    "hyperband": ("HyperbandPolicy", "hyperband(max_intervals=81)"),
}


def space_of(texts: Iterable[str]) -> dict[str, Any]:
    """Each parameter once: of two of a name, one would be dropped without a word."""
    found: dict[str, Any] = {}
    for text in texts:
        name, expression = parameter(text)
        if option(name) in map(option, found):
            raise InvalidRequest(f"--param {name} is given twice. Write its values in one: {name}=1,2,3.")
        found[name] = expression
    if not found:
        raise InvalidRequest("Nothing to search. Give --param NAME=EXPRESSION, such as --param 'lr=loguniform(-6,-1)'.")
    return found


def parameter(text: str) -> tuple[str, list[Any]]:
    """NAME=EXPRESSION, or NAME=VALUE,VALUE,…: one of these values."""
    name, equals, said = text.partition("=")
    if not name.strip() or not equals or not said.strip():
        raise InvalidRequest(
            f"--param {text!r} is not of the form NAME=EXPRESSION. Write it as lr=loguniform(-6,-1) or batch=16,32,64."
        )
    called = _call(said)
    if called is None and "(" in said:
        raise InvalidRequest(
            f"--param {text!r} does not read. Write it as lr=loguniform(-6,-1), in quotes for the shell."
        )
    if called is None:
        options = [_literal(each) for each in said.split(",")]
        if "" in options:
            raise InvalidRequest(f"--param {text!r} has an option with nothing in it. Leave the extra comma out.")
        return name.strip(), [CHOICE, [options]]
    return name.strip(), _expression(called, text)


def policy(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """A policy's class, and what it is made with: `bandit(slack_factor=0.1)`, or just `median`."""
    called = _call(text if "(" in text else f"{text}()")
    if called is None or called.func.id.lower() not in POLICIES:  # type: ignore[attr-defined]
        raise InvalidRequest(
            f"--stop {text!r} is no policy. Use one of {', '.join(how for _, how in POLICIES.values())}."
        )
    try:
        given = [ast.literal_eval(each) for each in called.args]
        named = {str(each.arg): ast.literal_eval(each.value) for each in called.keywords}
    except ValueError as error:
        raise InvalidRequest(f"--stop {text!r} has something in it that is no number or text.") from error
    return POLICIES[called.func.id.lower()][0], given, named  # type: ignore[attr-defined]


def policy_hint(kind: str) -> str:
    return next(f"Write it as {how}." for name, how in POLICIES.values() if name == kind)


def _call(text: str) -> ast.Call | None:
    """`name(…)`, or None."""
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return parsed if isinstance(parsed, ast.Call) and isinstance(parsed.func, ast.Name) else None


def _expression(called: ast.Call, text: str) -> list[Any]:
    name = called.func.id  # type: ignore[attr-defined]
    if name != CHOICE and name not in NUMBERS:
        known = ", ".join([CHOICE, *NUMBERS])
        raise InvalidRequest(f"--param {text!r}: there is no expression {name!r}. Use one of {known}.")
    if called.keywords:
        raise InvalidRequest(f"--param {text!r}: write the values of {name} without their names, as in {name}(0, 1).")
    arguments: list[Any] = []
    for each in called.args:
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            arguments.append(_expression(each, text))
            continue
        try:
            arguments.append(ast.literal_eval(each))
        except ValueError as error:
            raise InvalidRequest(
                f"--param {text!r}: {ast.unparse(each)!r} is no number and no text in quotes. Put texts in quotes."
            ) from error
    if name != CHOICE:
        return [name, arguments]
    alone = len(arguments) == 1 and isinstance(arguments[0], list | tuple)
    return [CHOICE, [list(arguments[0]) if alone else arguments]]


def _literal(text: str) -> Any:
    """A number where it is one, else text; quotes are not needed."""
    try:
        value = ast.literal_eval(text.strip())
    except (SyntaxError, ValueError):
        return text.strip()
    return value if isinstance(value, int | float | str) else text.strip()
