"""Looks through a source directory, quickly where it has been before.

What was seen of a folder is kept: the names in it, what was decided about each, and for every file its times, size,
inode, mode and digest. A folder where all of that is as it was costs one `stat` per file and little else.
"""

from __future__ import annotations

import binascii
import os
from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from trainyard.blobs.ignore import VIRTUAL_ENVIRONMENT, Rules
from trainyard.contract.errors import SnapshotRefused

# What a name in a folder is to us. The first two are files of the snapshot.
FILE, OUTSIDE_FILE = "f", "x"  # a file; a link to a file elsewhere, taken as if it were here
FOLDER, LINK = "d", "l"  # a link that stays within the source
LOST_LINK, SPECIAL = "!", "s"  # left out with a warning
IGNORED, IGNORED_FOLDER = "-", "="
FILES = (FILE, OUTSIDE_FILE)

STATS = 5  # numbers per file: time of content, time of inode, size, inode, mode
_BYTES = STATS * 8


class Known(NamedTuple):
    """A folder as the last look left it."""

    names: str  # joined by "/", in the disk's order
    kinds: str  # a letter for each
    rules: str
    stats: str  # packed; zeros where the look came too soon after a change to be sure
    digests: str  # 64 digits for each file
    links: list[list[str]]
    folders: int  # how many it holds
    tree: str  # its manifest
    files: int  # with everything below
    bytes: int


@dataclass(eq=False, slots=True)
class Folder:
    """A folder as it is now. `digests` has an empty string for each file that must be read."""

    path: str
    relative: str = ""  # or "a/b/"
    name: str = ""
    parent: Folder | None = None
    known: Known | None = None
    names: list[str] = field(default_factory=list)
    kinds: str = ""
    rules: str = ""
    stats: list[int] = field(default_factory=list)
    links: list[list[str]] = field(default_factory=list)
    children: list[Folder] = field(default_factory=list)
    clean: bool = False  # all of the above as known; then the two lists below are empty until `unfold`
    file_names: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    unsure: list[int] = field(default_factory=list)  # files that may change without a trace in their times
    reused: bool = False  # with all that is below it, as known: so is its manifest
    tree: str = ""
    files: int = 0
    bytes: int = 0

    def unfold(self) -> None:
        """Name the files of a folder that is as it was."""
        if self.clean and self.known is not None:
            self.clean = self.reused = False
            self.file_names = _file_names(self.names, self.kinds)
            self.digests = [self.known.digests[at : at + 64] for at in range(0, len(self.known.digests), 64)]

    def join(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path != "/" else f"/{name}"

    def stats_of(self, at: int) -> list[int]:
        return self.stats[at * STATS : at * STATS + STATS]


class Scan:
    """Every folder of a source (a real path), each after the one that holds it."""

    def __init__(self, source: str, known: dict[str, Known], without: frozenset[str] = frozenset()) -> None:
        self.source = source
        self.warnings: list[str] = []
        self.folders: list[Folder] = []
        self._known = known
        self._without = without
        self._waiting: list[tuple[Folder, Rules | None]] = [(Folder(source, known=known.get("")), None)]
        while self._waiting:
            folder, rules = self._waiting.pop()
            try:
                self._look(folder, rules)
            except OSError as error:
                raise unreadable(error, folder.path) from error

    def _look(self, folder: Folder, rules: Rules | None) -> None:
        # By an open folder, not by its path: the kernel then finds each file in one step.
        fd = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with os.scandir(fd) as found:
                entries = list(found)
            self._look_at(folder, entries, rules)
        finally:
            os.close(fd)

    def _look_at(self, folder: Folder, entries: list[os.DirEntry[str]], rules: Rules | None) -> None:
        folder.names = names = [entry.name for entry in entries]
        if folder.parent is not None:
            if VIRTUAL_ENVIRONMENT in names:
                return
            folder.parent.children.append(folder)
        rules = rules.below(folder.relative, folder.path, names) if rules else self._top_rules(names)
        folder.rules = rules.key
        known = folder.known
        if (
            known is not None
            and known.rules == rules.key
            and known.names == "/".join(names)
            and self._same_kinds(folder, entries, known.kinds)
        ):
            folder.kinds = known.kinds
            folder.clean = True  # so far
        else:
            folder.kinds = "".join([self._kind(folder, entry, rules) for entry in entries])
        self._see_others(folder, entries, rules)
        self._see_files(folder, entries)
        self.folders.append(folder)

    def _top_rules(self, names: list[str]) -> Rules:
        return Rules.of(self.source, names, self._without)

    def _same_kinds(self, folder: Folder, entries: list[os.DirEntry[str]], kinds: str) -> bool:
        for entry, kind in zip(entries, kinds, strict=True):
            if kind == FILE:
                if not entry.is_file(follow_symlinks=False):
                    return False
            elif kind in (IGNORED, IGNORED_FOLDER):
                if entry.is_dir(follow_symlinks=False) != (kind == IGNORED_FOLDER):
                    return False
            elif self._sort(folder, entry) != kind:
                return False
        return True

    def _kind(self, folder: Folder, entry: os.DirEntry[str], rules: Rules) -> str:
        is_folder = entry.is_dir(follow_symlinks=False)
        if rules.ignores(folder.relative, entry.name, is_folder) or folder.join(entry.name) in self._without:
            return IGNORED_FOLDER if is_folder else IGNORED
        return self._sort(folder, entry)

    def _sort(self, folder: Folder, entry: os.DirEntry[str]) -> str:
        if entry.is_symlink():
            target = os.path.realpath(folder.join(entry.name))
            if target == self.source or target.startswith(self.source.rstrip("/") + "/"):
                return LINK
            return OUTSIDE_FILE if os.path.isfile(target) else LOST_LINK
        if entry.is_dir(follow_symlinks=False):
            return FOLDER
        return FILE if entry.is_file(follow_symlinks=False) else SPECIAL

    def _see_others(self, folder: Folder, entries: list[os.DirEntry[str]], rules: Rules) -> None:
        for entry, kind in zip(entries, folder.kinds, strict=True):
            if kind == FILE:
                continue
            if kind == FOLDER:
                relative = f"{folder.relative}{entry.name}/"
                child = Folder(folder.join(entry.name), relative, entry.name, folder, self._known.get(relative))
                self._waiting.append((child, rules))
            elif kind == LINK:
                target = os.path.relpath(os.path.realpath(folder.join(entry.name)), folder.path)
                folder.links.append([entry.name, target])
            elif kind == LOST_LINK:
                self.warnings.append(
                    f"{folder.relative}{entry.name} is a link to a folder outside the source directory, or to nothing: "
                    "it is not in the snapshot. Copy what it points at into the source directory if the run needs it."
                )
            elif kind == SPECIAL:
                self.warnings.append(
                    f"{folder.relative}{entry.name} is a pipe, socket or device: it is not in the snapshot."
                )

    def _see_files(self, folder: Folder, entries: list[os.DirEntry[str]]) -> None:
        stats = folder.stats
        for entry, kind in zip(entries, folder.kinds, strict=True):
            if kind == FILE:
                seen = entry.stat(follow_symlinks=False)
            elif kind == OUTSIDE_FILE:
                seen = os.stat(folder.join(entry.name))
            else:
                continue
            stats += (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino, seen.st_mode)
        known = folder.known
        folder.clean = folder.clean and known is not None and known.stats == pack(stats) and known.links == folder.links
        if folder.clean:
            return
        folder.file_names = _file_names(folder.names, folder.kinds)
        folder.digests = _digests_still_good(folder, known) if known else [""] * len(folder.file_names)


def unreadable(error: OSError, path: str) -> SnapshotRefused:
    where = os.fsdecode(error.filename or path)
    return SnapshotRefused(
        f"Cannot take {where} into the snapshot: {error.strerror or error}. Make it readable and leave it alone while "
        "the run is submitted, or name it in .amlignore."
    )


def numbers_of(seen: os.stat_result) -> list[int]:
    return [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino, seen.st_mode]


def packed(numbers: list[int]) -> array[int]:
    try:
        return array("q", numbers)
    except OverflowError:  # an inode number with its highest bit set
        return array("q", [(number + (1 << 63)) % (1 << 64) - (1 << 63) for number in numbers])


def pack(numbers: list[int]) -> str:
    return binascii.b2a_base64(packed(numbers), newline=False).decode("ascii")


def _digests_still_good(folder: Folder, known: Known) -> list[str]:
    """The known digest of each file that has not changed since, and an empty string for the others."""
    then, now = binascii.a2b_base64(known.stats), packed(folder.stats).tobytes()
    before = {name: at for at, name in enumerate(_file_names(known.names.split("/"), known.kinds))}
    digests = []
    for at, name in enumerate(folder.file_names):
        was = before.get(name, -1)
        same = was >= 0 and then[was * _BYTES : (was + 1) * _BYTES] == now[at * _BYTES : (at + 1) * _BYTES]
        digests.append(known.digests[was * 64 : was * 64 + 64] if same else "")
    return digests


def _file_names(names: list[str], kinds: str) -> list[str]:
    return [name for name, kind in zip(names, kinds, strict=False) if kind in FILES]
