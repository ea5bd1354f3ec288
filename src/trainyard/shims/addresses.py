"""TRAINYARD_URL_MAP inside libraries: what a framework's own loader fetches from the web comes from the site's mirror.

The map is JSON, prefix → prefix. Addresses that no prefix fits are fetched from where they are.
"""

from __future__ import annotations

import os

from trainyard.shims.hooks import after_import
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from typing import Any

_VARIABLE = "TRAINYARD_URL_MAP"


def install() -> None:
    if os.environ.get(_VARIABLE):
        after_import("urllib.request", _urllib)
        after_import("requests.sessions", _requests)


def mapped(address: str) -> str:
    """Where to fetch an address from."""
    table = _table(os.environ.get(_VARIABLE, ""))
    prefix = max((prefix for prefix in table if address.startswith(prefix)), key=len, default=None)
    return address if prefix is None else table[prefix] + address[len(prefix) :]


def _table(text: str) -> dict[str, str]:
    import json

    try:
        found = json.loads(text) if text else {}
    except ValueError:
        did("addresses", _VARIABLE + ' is no JSON and has no effect. Write it as {"https://from/": "https://to/"}.')
        return {}
    return {str(old): str(new) for old, new in found.items()} if isinstance(found, dict) else {}


def _urllib(module: Any) -> None:
    import functools

    opener = module.OpenerDirector
    original = opener.open

    @functools.wraps(original)
    def open(self: Any, fullurl: Any, *arguments: Any, **given: Any) -> Any:
        if isinstance(fullurl, str):
            fullurl = _said(fullurl)
        elif getattr(fullurl, "full_url", None):
            fullurl.full_url = _said(fullurl.full_url)
        return original(self, fullurl, *arguments, **given)

    opener.open = open


def _requests(module: Any) -> None:
    import functools

    session: Any = module.Session
    original = session.request

    @functools.wraps(original)
    def request(self: Any, method: Any, url: Any, *arguments: Any, **given: Any) -> Any:
        return original(self, method, _said(url) if isinstance(url, str) else url, *arguments, **given)

    session.request = request


def _said(address: str) -> str:
    instead = mapped(address)
    if instead != address:
        did(
            "addresses",
            address.partition("?")[0] + " comes from " + instead.partition("?")[0] + " (" + _VARIABLE + ").",
        )
    return instead
