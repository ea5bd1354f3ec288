"""Trainyard: train and deploy models with the Azure ML SDK v1's words, on your own machines."""

from __future__ import annotations

__version__ = "0.1.0"


def load_ipython_extension(ipython: object) -> None:
    """`%load_ext trainyard` in a notebook: old cells run on installed frameworks (see docs/migrating.md)."""
    del ipython  # the helpers look for it themselves
    import trainyard.shims

    trainyard.shims.install()
