"""From a dataset's definition to its files: pure but for the looks into depots."""

from __future__ import annotations

import functools
import random
import re
import time
import urllib.parse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from trainyard.blobs.depots.base import Depot, checked_path
from trainyard.blobs.depots.patterns import fixed_folder, is_pattern, matches
from trainyard.contract.data import DataFile, DatasetDefinition, DataSource
from trainyard.contract.errors import DataAway, DataRefused, NoSuchData

_FEW = 4  # below this many, starting threads costs more than it saves
_LOOKS = 8
PAUSES_S = (0.2, 0.5, 1.0)  # before a web server that did not answer is asked again
DepotOf = Callable[[DataSource], Depot]


@dataclass(frozen=True)
class Entry:
    """One file of a dataset: its path in the dataset's folder, and where it is."""

    path: str
    depot: Depot
    file: DataFile


def resolve(definition: DatasetDefinition, depot_of: DepotOf, *, missing_ok: bool = False) -> list[Entry]:
    """Every file, in order, after the steps that choose among files. `missing_ok`: sources that have none count for
    nothing."""
    found = _in_parallel([(source, depot_of(source)) for source in definition.sources], missing_ok=missing_ok)
    entries = _named([it for it in found if it[2]])
    if definition.kind == "file":
        for step in definition.steps:
            entries = choose(entries, step)
    return entries


def _in_parallel(
    sources: list[tuple[DataSource, Depot]], *, missing_ok: bool
) -> list[tuple[DataSource, Depot, list[DataFile]]]:
    """Each source with its files. Web servers are asked about several at once: each answer takes its time to come."""

    def look(pair: tuple[DataSource, Depot]) -> tuple[DataSource, Depot, list[DataFile]]:
        try:
            return (pair[0], *_files(*pair))
        except NoSuchData:
            if not missing_ok:
                raise
            return (*pair, [])

    if sum(source.is_web for source, _ in sources) < _FEW:
        return [look(pair) for pair in sources]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_LOOKS) as pool:
        return list(pool.map(look, sources))


def _files(source: DataSource, depot: Depot) -> tuple[Depot, list[DataFile]]:
    if source.is_web:
        if (file := _looked_at(depot, source.path)) is None:
            raise NoSuchData(f"There is nothing at {source.path}. Check the address.")
        return depot, [file]
    path = checked_path(source.path)
    files: list[DataFile] = []
    if is_pattern(path):
        files = [file for file in depot.list(fixed_folder(path)) if matches(path, file.path)]
    if not files:  # names may have brackets too
        alone = depot.look(path) if path else None
        files = [alone] if alone is not None else list(depot.list(path))
    if not files:
        raise NoSuchData(f"{said(source)} matches no file. Check the path, and that the files were uploaded.")
    return depot, files


def _looked_at(depot: Depot, url: str) -> DataFile | None:
    """A server that is busy or just starting is asked again, as it is when its file is fetched."""
    for pause in PAUSES_S:
        try:
            return depot.look(url)
        except DataAway:
            time.sleep(pause)
    return depot.look(url)


def said(source: DataSource) -> str:
    return f"{source.path!r} of datastore {source.datastore!r}" if source.datastore else repr(source.path)


def folder_of(source: DataSource, depot: Depot) -> str | None:
    """The source as a folder of this machine; None for everything else."""
    import os

    path = source.path.rstrip("/")
    path = "" if path == "**" else path.removesuffix("/**")  # all below a folder is the folder
    if source.is_web or is_pattern(path):
        return None
    local = depot.local(path)
    return local if local is not None and os.path.isdir(local) else None


def _named(found: list[tuple[DataSource, Depot, list[DataFile]]]) -> list[Entry]:
    """Paths from the folder that all sources of a datastore share; several datastores get a folder each."""
    shared: dict[str | None, str] = {}
    for source, _, files in found:
        if source.is_web:
            continue
        top = _top(source, files)
        shared[source.datastore] = _common(shared[source.datastore], top) if source.datastore in shared else top
    several = len({source.datastore for source, *_ in found if not source.is_web}) > 1
    entries: dict[str, Entry] = {}
    for source, depot, files in found:
        for file in files:
            if source.is_web:
                name = _web_name(file.path)
            else:
                top = shared[source.datastore]
                name = file.path[len(top) :].lstrip("/") if top else file.path
                name = f"{source.datastore or 'local'}/{name}" if several else name
            entries.setdefault(name, Entry(name, depot, file))  # the same file by two patterns is one file
    return list(entries.values())


def _top(source: DataSource, files: list[DataFile]) -> str:
    path = checked_path(source.path)
    if is_pattern(path) and any(matches(path, file.path) for file in files):
        return fixed_folder(path)
    alone = len(files) == 1 and files[0].path == path
    return path.rpartition("/")[0] if alone else path


def _common(one: str, two: str) -> str:
    parts = []
    for a, b in zip(one.split("/"), two.split("/"), strict=False):
        if a != b:
            break
        parts.append(a)
    return "/".join(parts)


def _web_name(url: str) -> str:
    """https/host/folder/file: an address as a path. What could be more than a name is replaced."""
    parts = urllib.parse.urlsplit(url)
    names = [parts.scheme, parts.netloc.rpartition("@")[2], *urllib.parse.unquote(parts.path).split("/")]
    if parts.query:
        names[-1] += "?" + parts.query
    safe = [re.sub(r"[^\w.+=@~ -]", "_", name) for name in names if name not in ("", ".", "..")]
    return "/".join(safe)


# Steps


def choose(entries: list[Entry], step: dict[str, Any]) -> list[Entry]:
    match step["op"]:
        case "skip":
            return entries[int(step["count"]) :]
        case "take":
            return entries[: int(step["count"])]
        case "sample":
            return [it for it, number in numbered(entries, step["seed"]) if number < float(step["probability"])]
        case "split":
            share, first = float(step["percentage"]), step["part"] == 0
            return [it for it, number in numbered(entries, step["seed"]) if (number < share) is first]
        case "filter":
            return [entry for entry in entries if holds(step["expression"], functools.partial(_about, entry))]
        case unknown:
            raise DataRefused(f"A file dataset has no step {unknown!r}. Make it again with this version.")


def numbered(items: Iterable[Any], seed: int) -> Iterable[tuple[Any, float]]:
    """Each with a number between 0 and 1 that the seed decides: the same split whenever it is asked for."""
    numbers = random.Random(seed)  # noqa: S311 - a sample, not a secret
    return [(item, numbers.random()) for item in items]


def holds(expression: Any, value: Callable[[str], Any]) -> Any:
    """Whether an expression such as ["gt", ["meta", "Size"], 10] is true of one file."""
    if not isinstance(expression, list):
        return expression
    op, *parts = expression
    if op in ("meta", "column"):
        return value(parts[0])
    if op == "time":
        return parts[0]
    values = [holds(part, value) for part in parts]
    if op not in OPERATIONS:
        raise DataRefused(f"There is no operation {op!r} in filters.")
    try:
        return OPERATIONS[op](*values)
    except (TypeError, AttributeError) as error:
        raise DataRefused(
            f"The filter compares what cannot be compared: {values[0]!r} with {values[-1]!r}. Size is a number, "
            "Path and Name are text, LastModifiedTime is a datetime."
        ) from error


OPERATIONS: dict[str, Callable[..., Any]] = {
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "null": lambda a: a is None,
    "contains": lambda a, b: b in a,
    "starts": lambda a, b: a.startswith(b),
    "ends": lambda a, b: a.endswith(b),
}


def _about(entry: Entry, name: str) -> Any:
    import datetime

    match name:
        case "Size":
            return entry.file.size
        case "Path" | "Name":
            return "/" + entry.path if name == "Path" else entry.path.rpartition("/")[2]
        case "LastModifiedTime" | "CreatedTime" | "ModifiedTime":
            changed = datetime.datetime.fromtimestamp(entry.file.changed_ns / 1e9, datetime.UTC)
            return changed.replace(tzinfo=None).isoformat()  # as filters say it
        case unknown:
            raise DataRefused(f"Files have no {unknown!r}. They have Size, Path, Name and LastModifiedTime.")
