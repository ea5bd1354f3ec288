"""Times as the SDK writes them."""

from __future__ import annotations


def iso(ns: int | None) -> str | None:
    """UTC, with microseconds and a Z; None stays None."""
    if ns is None:
        return None
    import datetime

    moment = datetime.datetime.fromtimestamp(ns // 1_000_000_000, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ns // 1000 % 1_000_000:06d}Z"


def duration(seconds: int) -> str:
    """ISO 8601, in seconds."""
    return f"PT{seconds}S"
