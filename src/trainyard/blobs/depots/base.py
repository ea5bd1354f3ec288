"""The depot port: files by path, in somebody else's keeping.

1. A path is relative, '/'-separated and stays inside; `checked_path` refuses everything else.
2. A file's `version` changes when its content does. `read` with a version answers those bytes or raises DataChanged.
3. What does not answer, or breaks off, is DataAway, and may be read on from where it broke; what is not there is
   NoSuchData; who is not let in is BadCredentials.
4. A `put` is there whole or not at all.

All methods may be called from any thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from trainyard.contract.data import DataFile
from trainyard.contract.errors import DataRefused

_LONGEST = 4096


class Depot(ABC):
    key: str  # the same for the same place: what the cache knows its files by

    @abstractmethod
    def list(self, folder: str) -> Iterator[DataFile]:
        """Every file below the folder ("" for all), by its path from the depot's top, in order."""

    @abstractmethod
    def look(self, path: str) -> DataFile | None:
        """The file of that path; None when there is none."""

    @abstractmethod
    def read(self, path: str, offset: int = 0, version: str = "") -> Iterator[bytes]:
        """Its bytes from `offset` on."""

    @abstractmethod
    def put(self, path: str, file: str) -> None:
        """Store this machine's `file` there, over what was there."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file. One that is not there is no error."""

    @abstractmethod
    def check(self, *, create: bool = False) -> None:
        """Whether it can be used as who we are; `create`: make the container if it is not there."""

    def local(self, path: str) -> str | None:
        """Where the file or folder is on this machine, if it is."""
        del path
        return None


def checked_path(path: str) -> str:
    """'a/b' for '/a//b/.'; refused is what climbs out or is no text."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or any(ord(letter) < 32 for letter in path) or len(path) > _LONGEST:
        raise DataRefused(f"{path[:200]!r} cannot be a path in a datastore: it must be relative and have no '..'.")
    return "/".join(parts)
