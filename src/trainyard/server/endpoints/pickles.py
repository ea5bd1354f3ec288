"""What a pickled estimator says of the scikit-learn that saved it. Its bytes are searched; nothing is unpickled."""

from __future__ import annotations

import os
import re
import zlib
from typing import IO

_HEAD, _TAIL = 8 << 20, 64 << 10  # an estimator names it after its arrays, which may be large; its parts do so earlier
# its name, where pickle keeps that, and the length of the text that follows
_NAMED = re.compile(rb"_sklearn_version.{0,12}?(?:[\x8cU](.)|X(.)\x00\x00\x00)", re.DOTALL)
_VERSION = re.compile(rb"\d+\.\d+(\.\d+)?(\.?[a-z]+\d+)?")


def sklearn_version(file: IO[bytes]) -> str | None:
    """None: it says nothing of it, or not where it is looked for."""
    with file:
        head = _unpacked(file.read(_HEAD))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        tail = file.read(_TAIL)
    return _said(head) or _said(tail)


def _said(data: bytes) -> str | None:
    if (found := _NAMED.search(data)) is None:
        return None
    at = found.end()
    text = data[at : at + ord(found[1] or found[2])]
    return text.decode("ascii") if _VERSION.fullmatch(text) else None


def _unpacked(data: bytes) -> bytes:
    """joblib.dump(…, compress=…) writes zlib's or gzip's form."""
    if data[:1] != b"\x78" and data[:2] != b"\x1f\x8b":
        return data
    try:
        return zlib.decompressobj(wbits=47).decompress(data, _HEAD)
    except zlib.error:
        return data
