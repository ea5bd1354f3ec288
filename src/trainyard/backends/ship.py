"""What an attached machine needs of ours to run agents: this installation's sources, packed once."""

from __future__ import annotations

import functools
import gzip
import hashlib
import importlib.util
import io
import os
import tarfile
from dataclasses import dataclass

import trainyard

_LEFT_HERE = frozenset({"server", "cli", "testing", "__pycache__"})
_CARRIED = (".py", ".yml", ".txt")
_BESIDE = ("azureml", "packaging", "pathspec")  # pure Python, as all of it is

# Run by the machine's own Python: that many bytes of standard input become the folder, whole or not at all.
UNPACK = """\
import io, os, shutil, sys, tarfile, tempfile
target, size, data = sys.argv[1], int(sys.argv[2]), b""
while len(data) < size:
    more = os.read(0, min(1 << 16, size - len(data)))
    if not more:
        sys.exit("the archive ended early")
    data += more
os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
aside = tempfile.mkdtemp(prefix=".code-", dir=os.path.dirname(target))
tarfile.open(fileobj=io.BytesIO(data), mode="r:gz").extractall(aside, filter="data")
try:
    os.rename(aside, target)
except OSError:
    shutil.rmtree(aside, ignore_errors=True)
    if not os.path.isdir(target):
        raise
"""


@dataclass(frozen=True)
class Bundle:
    fingerprint: str
    archive: bytes


@functools.cache
def bundle() -> Bundle:
    files = _files()
    seen = hashlib.sha256()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, path in sorted(files.items()):
            with open(path, "rb") as file:
                data = file.read()
            seen.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            tar.addfile(entry, io.BytesIO(data))
    return Bundle(seen.hexdigest()[:16], gzip.compress(packed.getvalue(), 6, mtime=0))


def _files() -> dict[str, str]:
    found = _below(os.path.dirname(os.path.abspath(trainyard.__file__)), "trainyard")
    for name in _BESIDE:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            found.update(_below(folder, name))
    return found


def _below(folder: str, name: str) -> dict[str, str]:
    found = {}
    for at, folders, files in os.walk(folder):
        folders[:] = [it for it in folders if it not in _LEFT_HERE]
        below = os.path.relpath(at, folder)
        prefix = name if below == "." else f"{name}/{below}"
        found.update({f"{prefix}/{file}": os.path.join(at, file) for file in files if file.endswith(_CARRIED)})
    return found
