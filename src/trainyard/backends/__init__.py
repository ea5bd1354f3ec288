"""Where agents run. A backend is a module here, a row in this table, a kit class in the tests, a page in the docs."""

from __future__ import annotations

import importlib
from typing import Any

from trainyard.backends.base import Backend
from trainyard.contract.errors import InvalidRequest

BACKENDS = {
    "local": "trainyard.backends.local:Local",
    "ssh": "trainyard.backends.ssh:Ssh",
}


def make_backend(name: str, **settings: Any) -> Backend:
    """The backend of that name; its module (and what it depends on) is imported only now."""
    if name not in BACKENDS:
        raise InvalidRequest(f"No backend named {name!r} (there are: {', '.join(sorted(BACKENDS))}).")
    module, _, attribute = BACKENDS[name].partition(":")
    backend: Backend = getattr(importlib.import_module(module), attribute)(**settings)
    return backend
