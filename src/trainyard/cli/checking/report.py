"""Everything that was found in a folder, and what it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainyard.cli.checking import addresses
from trainyard.cli.checking.findings import Finding, Kind
from trainyard.cli.checking.names import names_of
from trainyard.cli.checking.packages import pins_in_code, pins_in_list
from trainyard.cli.checking.sources import Place, read
from trainyard.shims.signs import Aliases, signs_in


@dataclass(frozen=True)
class Report:
    files: tuple[str, ...]  # all that were read
    findings: tuple[Finding, ...]

    def of(self, file: str) -> list[Finding]:
        found = [it for it in self.findings if it.place.file == file]
        return sorted(found, key=lambda it: (it.place.cell or 0, it.place.line, it.kind, it.name))

    def count(self, *kinds: Kind) -> int:
        return sum(it.kind in kinds for it in self.findings)

    @property
    def stopped(self) -> list[str]:
        """Files that cannot run as they are."""
        return sorted({it.place.file for it in self.findings if it.kind.stops})

    @property
    def using(self) -> list[str]:
        """Files that use the SDK at all."""
        return sorted({it.place.file for it in self.findings if it.kind in (Kind.HERE, Kind.MISSING)})

    def to_json(self) -> dict[str, Any]:
        return {
            "files": len(self.files),
            "files_using_the_sdk": len(self.using),
            "files_that_cannot_run": self.stopped,
            "counts": {kind.value: self.count(kind) for kind in Kind},
            "findings": [
                {
                    "file": it.place.file,
                    "cell": it.place.cell,
                    "line": it.place.line,
                    "kind": it.kind.value,
                    "name": it.name,
                    "note": it.note,
                }
                for file in self.files
                for it in self.of(file)
            ],
        }


def check(path: Path, variables: Mapping[str, str], *, online: bool = False) -> Report:
    sources = read(path)
    url_map = addresses.map_of(variables.get("TRAINYARD_URL_MAP"))
    found = [Finding(it.place, Kind.UNREAD, it.place.file.rpartition("/")[2], it.why) for it in sources.unread]
    for code in sources.code:
        found += names_of(code)
        found += pins_in_code(code)
        found += addresses.addresses_in(code, url_map)
        known = Aliases()
        for part in code.parts:
            for sign in signs_in(part.tree, known.names):
                kind = Kind.SHIM if sign.shim else Kind.GONE
                note = f"{sign.note} [{sign.shim}]" if sign.shim else sign.note
                found.append(Finding(Place(code.file, sign.line, part.cell), kind, sign.name, note))
            known.read(part.tree)
    for file, cell, text in sources.packages:
        found += pins_in_list(file, cell, text)
    if online:
        answers = addresses.asked(found)
        found = [replace(it, note=answers.get(it.name) or "is there") if it.name in answers else it for it in found]
    return Report(tuple(sources.files), tuple(dict.fromkeys(found)))


def most_wanted(report: Report, kind: Kind, most: int = 8) -> list[tuple[str, int]]:
    """The names that stand in the way most often."""
    return Counter(it.name for it in report.findings if it.kind is kind).most_common(most)
