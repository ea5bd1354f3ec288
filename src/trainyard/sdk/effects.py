"""Parameters of the SDK that mean nothing here are accepted, and each says so once."""

from __future__ import annotations

import warnings
from typing import Any

_told: set[str] = set()


def no_effect(where: str, **given: Any) -> None:
    """Warn, once for each, about the parameters that were given a value and change nothing."""
    for name, value in given.items():
        if value is not None:
            tell_once(f"{where}: {name} has no effect with Trainyard.")


def tell_once(message: str) -> None:
    if message not in _told:
        _told.add(message)
        warnings.warn(message, UserWarning, stacklevel=_outside())


def _outside() -> int:
    """The stack level of the first caller that is not ours, so that the warning points at the user's line."""
    import sys

    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("trainyard.sdk", "azureml.")):
        level, frame = level + 1, frame.f_back
    return level


def note_once(message: str) -> None:
    """For places that must never raise, such as logging a metric: warnings may be turned into errors, this may not."""
    if message not in _told:
        _told.add(message)
        import logging

        logging.getLogger("azureml").warning(message)
