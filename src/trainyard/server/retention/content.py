"""Content that nothing names any more.

What is named is found without asking each feature what its columns mean: every text of every row is looked through for
digests, and so is every manifest that is reached that way. A feature that is added later is safe from its first row.
What is left over is put aside, where whoever asks for it still gets it, and deleted a day later if nobody did.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator

from sqlalchemy import Column, Connection, String, Table, Text, cast, select
from sqlalchemy.types import JSON

from trainyard.blobs.files import FileStore, Stored
from trainyard.contract.errors import Conflict, UnknownBlob
from trainyard.contract.retention import Swept
from trainyard.server.context import Context
from trainyard.server.db import metadata

YOUNG_S = 3_600.0  # content comes before its name: what is younger may be about to get one
ASIDE_S = 86_400.0
_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_NOT_LOOKED_AT = {"metric_chunks", "tokens"}
_LARGEST_MANIFEST = 64 << 20
_one_at_a_time = threading.Lock()


def sweep(context: Context, *, dry_run: bool, young_s: float = YOUNG_S, aside_s: float = ASIDE_S) -> Swept:
    """Put aside what nothing names, delete what was put aside long ago."""
    if not _one_at_a_time.acquire(blocking=False):
        raise Conflict("Content is being swept already. Wait for its end.")
    try:
        return _sweep(context, dry_run, young_s, aside_s)
    finally:
        _one_at_a_time.release()


def _sweep(context: Context, dry_run: bool, young_s: float, aside_s: float) -> Swept:
    store, now = context.blobs, time.time()
    before = list(store.listing())  # looked at first: what comes later is not in it
    with context.db.read() as tx:
        named = _reached(store, _named(tx))
    left = [blob for blob in before if blob.digest not in named and now - blob.since > young_s]
    waiting = store.listing_aside()
    gone = [blob for blob in waiting if blob.digest not in named and now - blob.since > aside_s]
    if not dry_run:
        for blob in left:
            store.put_aside(blob.digest)
        for blob in gone:
            store.drop_aside(blob.digest)
    return Swept(dry_run, len(before) - len(left), len(left), _bytes(left), len(gone), _bytes(gone))


def _named(tx: Connection) -> Iterator[str]:
    """Every digest that a row mentions."""
    for table in metadata.sorted_tables:
        columns = [column for column in table.columns if _holds_text(table, column)]
        if columns:
            chosen = select(*(cast(column, Text) for column in columns)).execution_options(yield_per=1000)
            for row in tx.execute(chosen):
                for value in row:
                    if value is not None and len(value) >= 64:
                        yield from _DIGEST.findall(value)


def _holds_text(table: Table, column: Column[object]) -> bool:
    return table.name not in _NOT_LOOKED_AT and isinstance(column.type, String | JSON)


def _reached(store: FileStore, digests: Iterable[str]) -> set[str]:
    """These, and what the manifests among them name."""
    reached: set[str] = set()
    waiting = list(digests)
    while waiting:
        digest = waiting.pop()
        if digest in reached:
            continue
        reached.add(digest)
        waiting += [name for name in _named_inside(store, digest) if name not in reached]
    return reached


def _named_inside(store: FileStore, digest: str) -> list[str]:
    """What is JSON may be a manifest; nothing else names content."""
    try:
        with store.peek(digest) as file:
            begin = file.read(1)
            if begin not in (b"{", b"[") or os.fstat(file.fileno()).st_size > _LARGEST_MANIFEST:
                return []
            rest = file.read()
    except UnknownBlob:
        return []
    return _DIGEST.findall((begin + rest).decode("utf-8", "replace"))


def _bytes(blobs: Iterable[Stored]) -> int:
    return sum(blob.size for blob in blobs)
