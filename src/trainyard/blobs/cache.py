"""What the last look at a source directory saw, in a file of its own. A damaged or foreign one is as good as none."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib

from trainyard.blobs.base import replacing
from trainyard.blobs.scan import STATS, Folder, Known, pack
from trainyard.contract.errors import TrainyardError

_FORM = 1


class Cache:
    def __init__(self, folder: str | None, source: str) -> None:
        name = hashlib.sha256(os.fsencode(source)).hexdigest()[:32]
        self._path = os.path.join(folder, f"{name}.json") if folder else None
        self._source = source

    def load(self) -> dict[str, Known]:
        if self._path is None:
            return {}
        try:
            with open(self._path, "rb") as file:
                check, _, body = file.read().partition(b"\n")
            if int(check, 16) != zlib.crc32(body):
                return {}
            form, source, folders = json.loads(body)
        except (OSError, ValueError):
            return {}
        if form != _FORM or source != self._source:
            return {}
        return {relative: Known._make(known) for relative, known in folders.items()}

    def save(self, folders: list[Folder]) -> None:
        """Best effort: without it the next look takes longer, that is all."""
        if self._path is None or folders[0].reused:
            return
        known = {folder.relative: _known(folder) for folder in folders}
        body = json.dumps([_FORM, self._source, known], separators=(",", ":")).encode("ascii")
        with contextlib.suppress(OSError, TrainyardError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with replacing(self._path) as fd, open(os.dup(fd), "wb") as file:
                file.write(b"%08x\n" % zlib.crc32(body) + body)


def _known(folder: Folder) -> Known:
    if folder.reused and folder.known is not None:
        return folder.known
    stats = folder.stats
    for at in folder.unsure:
        stats[at * STATS : at * STATS + STATS] = [0] * STATS
    return Known(
        "/".join(folder.names),
        folder.kinds,
        folder.rules,
        pack(stats),
        folder.known.digests if folder.clean and folder.known else "".join(folder.digests),
        folder.links,
        len(folder.children),
        folder.tree,
        folder.files,
        folder.bytes,
    )
