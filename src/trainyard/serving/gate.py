"""Who may ask: a key or a token in the Authorization header, on every route. The front knows their digests alone."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping

from trainyard.contract.serving import Auth

_BEARER = b"bearer "


class Gate:
    def __init__(self, auth: Auth, keys: tuple[str, ...], tokens: Mapping[str, int]) -> None:
        self._auth = auth
        self._keys = keys
        self._tokens = dict(tokens)

    def lets_in(self, given: bytes) -> bool:
        """`given`: the Authorization header."""
        if self._auth is Auth.NONE:
            return True
        if given[: len(_BEARER)].lower() != _BEARER:
            return False
        digest = hashlib.sha256(given[len(_BEARER) :].strip()).hexdigest()
        if self._auth is Auth.KEY:
            return _any_is(self._keys, digest)
        now = time.time_ns()
        return _any_is(tuple(token for token, ends in self._tokens.items() if ends > now), digest)


def _any_is(known: tuple[str, ...], digest: str) -> bool:
    """As long for the first as for the last, and for none."""
    found = False
    for one in known:
        found |= hmac.compare_digest(one, digest)
    return found
