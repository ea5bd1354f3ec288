"""Credentials inside addresses: taken out of what is shown or kept, put back where they are used. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

HIDDEN = "****"
_USER = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)([^\s/'\"]+)(@([^\s/'\"?#,;]*))")
_CHANNEL = re.compile(
    r"(\bhttps?://([^\s/'\"]+)/(?:[^\s/'\"]+/)?t/)(\*{4}|[^\s/'\"]{8,})(?=/)"
)  # conda's way to say a token


def changed(text: str, change: Callable[[str, str], str]) -> str:
    """`text` with what `change(place, secret)` says instead of each secret. A place is a host, or a host's channels."""
    if "://" not in text:
        return text
    text = _USER.sub(lambda found: found[1] + change(found[4], found[2]) + found[3], text)
    return _CHANNEL.sub(lambda found: found[1] + change(_host(found[2]) + "/t", found[3]), text)


def redacted(text: str) -> str:
    return changed(text, lambda _place, _secret: HIDDEN)


def put_back(text: str, sources: Iterable[str]) -> str:
    """A redacted text with the secrets that `sources` have for the same places."""
    known: dict[str, str] = {}
    for source in sources:
        changed(source, lambda place, secret: known.setdefault(place, secret))
    return changed(text, lambda place, secret: known.get(place, secret) if secret == HIDDEN else secret)


def _host(authority: str) -> str:
    return authority.rpartition("@")[2]
