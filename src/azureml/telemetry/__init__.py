"""Nothing is collected, so there is nothing to switch on or off."""

from __future__ import annotations

from typing import Any


def set_diagnostics_collection(
    send_diagnostics: bool = True, verbosity: int = 20, reason: str = "", path: Any = None
) -> None:
    """Accepted for old notebooks. Trainyard sends nothing anywhere, whatever is asked."""
    del send_diagnostics, verbosity, reason, path
