"""Two or more runs side by side: what they were given, what they measured, and in which environment and code they did.

Everything is data here; whoever shows it decides how."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainyard.contract.metrics import MetricSummary
from trainyard.contract.runs import RunRecord
from trainyard.contract.search import FoundRun, RunSearch

if TYPE_CHECKING:
    from trainyard.blobs.base import BlobStore
    from trainyard.client.runs import Runs

_LARGEST = 1 << 20  # a file beyond this is not shown line by line


@dataclass(frozen=True)
class Line:
    """One thing that runs have, with each run's value; None: this run has no such."""

    name: str
    values: tuple[Any, ...]

    @property
    def differs(self) -> bool:
        return any(value != self.values[0] for value in self.values[1:])


@dataclass(frozen=True)
class Comparison:
    runs: tuple[RunRecord, ...]
    facts: tuple[Line, ...]
    params: tuple[Line, ...]
    tags: tuple[Line, ...]
    metrics: tuple[tuple[str, tuple[MetricSummary | None, ...]], ...]
    packages: tuple[Line, ...]  # of their environments' locks; those that differ


def compare(runs: Runs, store: BlobStore, run_ids: Sequence[str]) -> Comparison:
    records = [runs.get(run_id) for run_id in run_ids]
    found = [found_run(runs, run_id) for run_id in run_ids]
    summaries = [{metric.name: metric for metric in each.metrics} for each in found]
    names = sorted({name for each in summaries for name in each})
    locks = [_packages(store, record) for record in records]
    return Comparison(
        tuple(records),
        tuple(_lines([_facts(record) for record in records])),
        tuple(_lines([each.params for each in found])),
        tuple(_lines([dict(record.tags) for record in records])),
        tuple((name, tuple(each.get(name) for each in summaries)) for name in names),
        tuple(line for line in _lines(locks) if line.differs) if all(locks) else (),
    )


def code_changes(store: BlobStore, before: RunRecord, after: RunRecord) -> Iterator[str]:
    """The difference between two runs' snapshots as lines of a unified diff; nothing where they are the same."""
    from trainyard.blobs.snapshot import read_manifest

    if before.snapshot_id == after.snapshot_id or not before.snapshot_id or not after.snapshot_id:
        return
    old = {entry.path: entry for entry in read_manifest(store, before.snapshot_id)}
    new = {entry.path: entry for entry in read_manifest(store, after.snapshot_id)}
    for path in sorted({*old, *new}):
        was, now = old.get(path), new.get(path)
        if was is not None and now is not None and (was.digest, was.link) == (now.digest, now.link):
            continue
        old_text, new_text = _text(store, was), _text(store, now)
        if old_text is None or new_text is None:
            yield f"Binary or large file {path} {_verb(was, now)}"
            continue
        yield from difflib.unified_diff(
            old_text,
            new_text,
            f"{before.run_id}/{path}" if was else "/dev/null",
            f"{after.run_id}/{path}" if now else "/dev/null",
            lineterm="",
        )


def found_run(runs: Runs, run_id: str) -> FoundRun:
    """A run with its parameters and the summaries of its metrics."""
    # it is found by its id whether it is archived or not
    asked = RunSearch(f'run_id = "{run_id}"', metrics=None, archived="all", limit=1)
    return runs.search(asked).runs[0]


def _facts(record: RunRecord) -> dict[str, Any]:
    took = (record.ended_ns - record.started_ns) / 1e9 if record.ended_ns and record.started_ns else None
    spec = record.spec
    return {
        "name": record.display_name,
        "experiment": record.experiment,
        "status": record.state.value,
        "seconds": None if took is None else round(took, 3),
        "target": record.target,
        "nodes": record.nodes,
        "script": spec.script or spec.command if spec else None,
        "arguments": " ".join(spec.arguments) if spec else None,
        "environment": spec.environment.name if spec else None,
        "snapshot": (record.snapshot_id or "")[:12] or None,
        "commit": record.properties.get("azureml.git.commit"),
    }


def _lines(dicts: Sequence[dict[str, Any]]) -> list[Line]:
    names = dict.fromkeys(name for each in dicts for name in each)
    return [Line(name, tuple(each.get(name) for each in dicts)) for name in names]


def _packages(store: BlobStore, record: RunRecord) -> dict[str, str]:
    """Name → version of what the lock of the run's environment holds; {} where it has none."""
    lock = record.spec.environment.lock if record.spec else None
    if lock is None:
        return {}
    found = {}
    for line in store.read(lock).decode("utf-8", "replace").splitlines():
        name, equals, version = line.partition("==")
        if equals and not line.startswith(("#", " ")):
            found[name.strip()] = version.split()[0].rstrip("\\").strip() if version.split() else ""
        elif line.startswith("# python "):
            found["python"] = line.removeprefix("# python ")
    return found


def _text(store: BlobStore, entry: Any) -> list[str] | None:
    """Lines; None for what is no text or too much of it."""
    if entry is None:
        return []
    if entry.link is not None:
        return [f"-> {entry.link}"]
    if entry.size > _LARGEST:
        return None
    try:
        return store.read(entry.digest).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None


def _verb(was: Any, now: Any) -> str:
    return "was added" if was is None else "is gone" if now is None else "changed"
