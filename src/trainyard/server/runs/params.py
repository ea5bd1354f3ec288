"""What a run was given: its script's arguments, what it says of itself, the hyperparameters of a sweep."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from trainyard.contract.errors import Conflict, InvalidRequest
from trainyard.contract.search import RunParam
from trainyard.server.runs.tables import run_params
from trainyard.server.scope import Scope

HEAD = 200  # characters of a value that are indexed
MAX_NAME = 250
MAX_VALUE = 16_000
_ARGUMENTS = 500  # of a script that become parameters
_OPTION = re.compile(r"--?([^\W\d][\w.-]*)(?:=(.*))?", re.DOTALL)
_INSERT = insert(run_params)


class Source(StrEnum):
    ARGUMENT = "argument"  # of the script
    HYPERPARAMETER = "hyperparameter"  # drawn by a sweep
    LOGGED = "logged"  # said by the run itself: the last word


def of_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """`--lr 0.1`, `--lr=0.1`, `-n 3` and a bare `--flag` (which is "true"), named as the script names them, without
    their dashes. What belongs to no option is no parameter."""
    found: dict[str, str] = {}
    waiting: str | None = None
    for argument in arguments:
        option = _OPTION.fullmatch(argument)
        if option is None:
            if waiting is not None:
                found[waiting] = argument
            waiting = None
            continue
        name, value = option[1], option[2]
        found[name] = "true" if value is None else value
        waiting = name if value is None else None
    fitting = {name: value for name, value in found.items() if len(name) <= MAX_NAME and len(value) <= MAX_VALUE}
    return dict(list(fitting.items())[:_ARGUMENTS])


def first_params(
    tx: Connection, scope: Scope, arguments: Mapping[str, Any], hyperparameters: Mapping[str, Any]
) -> None:
    """Of a run that was just made and has none: its arguments, and what a sweep has drawn for it."""
    said = {name: (value, Source.ARGUMENT) for name, value in arguments.items()}
    said |= {str(name): (value, Source.HYPERPARAMETER) for name, value in hyperparameters.items()}
    rows = [_row(scope, name, _text(value), source) for name, (value, source) in said.items()]
    for row in rows:
        _check(row["name"], row["value"])
    if rows:
        tx.execute(_INSERT, rows)


def set_params(tx: Connection, scope: Scope, params: Mapping[str, Any], source: Source) -> None:
    """Arguments give way to hyperparameters, both to what the run logs. What was logged once stays: another value under
    its name is a Conflict, the same value is nothing new."""
    given = {str(name): _text(value) for name, value in params.items()}
    for name, value in given.items():
        _check(name, value)
    here = (run_params.c.run_key == scope.run_key) & run_params.c.name.in_(list(given))
    known = {row.name: (row.value, Source(row.source)) for row in tx.execute(select(run_params).where(here))}
    fresh = {}
    for name, value in given.items():
        old, said_by = known.get(name, (None, None))
        if said_by is Source.LOGGED and source is Source.LOGGED and old != value:
            raise Conflict(
                f"Parameter {name!r} of this run was logged as {_short(str(old))!r} and does not change to "
                f"{_short(value)!r}. Log another value under another name."
            )
        if said_by is None or _RANK[source] >= _RANK[said_by]:
            fresh[name] = value
    if not fresh:
        return
    replaced = (run_params.c.run_key == scope.run_key) & run_params.c.name.in_(
        [name for name in fresh if name in known]
    )
    tx.execute(delete(run_params).where(replaced))
    tx.execute(_INSERT, [_row(scope, name, value, source) for name, value in fresh.items()])


def params_of(tx: Connection, run_keys: Iterable[int]) -> dict[int, list[RunParam]]:
    """By name; a run without parameters has an empty list."""
    found: dict[int, list[RunParam]] = {key: [] for key in run_keys}
    chosen = select(run_params).where(run_params.c.run_key.in_(list(found)))
    for row in tx.execute(chosen.order_by(run_params.c.run_key, run_params.c.name)):
        found[row.run_key].append(RunParam(row.name, row.value, row.source))
    return found


def as_number(text: str) -> float | None:
    """None for what is no number, and for a NaN, which no database orders."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


_RANK = {Source.ARGUMENT: 0, Source.HYPERPARAMETER: 1, Source.LOGGED: 2}


def _row(scope: Scope, name: str, value: str, source: Source) -> dict[str, Any]:
    said = {"name": name, "value": value, "head": value[:HEAD], "number": as_number(value), "source": source.value}
    return {"run_key": scope.run_key, **scope.owner(), **said}


def _check(name: str, value: str) -> None:
    if not 0 < len(name) <= MAX_NAME:
        raise InvalidRequest(f"A parameter's name has 1 to {MAX_NAME} characters, not {len(name)}. Shorten it.")
    if len(value) > MAX_VALUE:
        raise InvalidRequest(
            f"Parameter {_short(name)!r} has {len(value)} characters, and a value at most {MAX_VALUE}. Upload it as a "
            "file of the run instead."
        )


def _text(value: Any) -> str:
    return str(value).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
