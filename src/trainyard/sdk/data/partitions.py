"""Columns out of paths: `sales/{state}/{day:yyyy/MM/dd}/data.csv`."""

from __future__ import annotations

import datetime
import functools
import re
import urllib.parse
from typing import Any

from trainyard.sdk.errors import UserErrorException

_KEY = re.compile(r"\{(\w+)(?::([^}]*))?\}")
_TIMES = {"yyyy": ("%Y", r"\d{4}"), "MM": ("%m", r"\d{2}"), "dd": ("%d", r"\d{2}")}
_TIMES |= {"HH": ("%H", r"\d{2}"), "mm": ("%M", r"\d{2}"), "ss": ("%S", r"\d{2}")}


_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # as Hive and Spark name the folder of rows that have none
_PLAIN = " !#$&'()+,;=@{}~"  # of what letters, digits and '_.-' are not; the rest is written %2F, as those write it

_SPANS = {"ss": 1, "mm": 60, "HH": 3600, "dd": 86400, "MM": 31 * 86400, "yyyy": 366 * 86400}  # seconds, at most


def keys_of(form: str | None) -> list[str]:
    return [name for name, _ in _KEY.findall(form or "")]


def spans_of(form: str | None) -> dict[str, datetime.timedelta]:
    """Of each key that is a time, how long a partition lasts at most."""
    found = {}
    for name, said in _KEY.findall(form or ""):
        seconds = [span for token, span in _SPANS.items() if token in said]
        if seconds:
            found[name] = datetime.timedelta(seconds=min(seconds))
    return found


def check_form(form: str) -> None:
    _compiled(form)


def values_of(form: str, path: str) -> dict[str, Any]:
    """What the path says of each key; times for keys with a form of time, else text."""
    pattern, times = _compiled(form)
    if (found := pattern.search(path)) is None:
        raise UserErrorException(f"{path!r} does not fit the partition_format {form!r}. Correct the format.")
    values: dict[str, Any] = {name: _value_of(folder) for name, folder in found.groupdict().items()}
    for name, said in times.items():
        values[name] = datetime.datetime.strptime(values[name], said)  # noqa: DTZ007 - paths name no zone
    return values


def as_folder(value: Any) -> str:
    """A value as the name of a folder, from which values_of has it again as text."""
    if value is None or str(value) in ("", "nan", "NaT", "<NA>"):
        return _NO_VALUE
    text = str(value)
    return "%2E" * len(text) if text in (".", "..") else urllib.parse.quote(text, safe=_PLAIN)


def _value_of(folder: str) -> str | None:
    return None if folder == _NO_VALUE else urllib.parse.unquote(folder)


@functools.lru_cache(maxsize=64)
def _compiled(form: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """The end of a path, from the first key on, and strptime's form of each time."""
    if not isinstance(form, str) or not _KEY.search(form):
        raise UserErrorException(f"partition_format {form!r} has no key. Write one, such as '{{state}}/data.csv'.")
    start = form.rfind("/", 0, form.index("{")) + 1
    said, times, at = "", {}, start
    for key in _KEY.finditer(form, start):
        said += _literal(form[at : key.start()])
        at = key.end()
        name, time_form = key[1], key[2]
        if time_form:
            times[name] = functools.reduce(
                lambda text, pair: text.replace(pair[0], pair[1][0]), _TIMES.items(), time_form
            )
            inside = re.escape(time_form)
            for token, (_, digits) in _TIMES.items():
                inside = inside.replace(token, digits)
            said += f"(?P<{name}>{inside})"
        else:
            said += f"(?P<{name}>[^/]+?)"
    return re.compile(f"(?:^|/){said}{_literal(form[at:])}$"), times


def _literal(text: str) -> str:
    return re.escape(text).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
