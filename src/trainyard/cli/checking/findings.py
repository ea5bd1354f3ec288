"""One thing that was found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trainyard.cli.checking.sources import Place


class Kind(StrEnum):
    HERE = "here"  # a name of the SDK that Trainyard has
    MISSING = "missing"  # one that it has not
    IGNORED = "ignored"  # an attribute that is set and has no effect
    SHIM = "shim"  # an old name of a framework that a helper brings back
    GONE = "gone"  # an old name that nothing brings back
    PIN = "pin"  # a version that has no build for today's Python
    ADDRESS = "address"  # data that are not where they were
    UNREAD = "unread"  # what could not be read

    @property
    def stops(self) -> bool:
        """Whether the code cannot run as it is."""
        return self in (Kind.MISSING, Kind.GONE, Kind.UNREAD)


@dataclass(frozen=True)
class Finding:
    place: Place
    kind: Kind
    name: str
    note: str = ""
