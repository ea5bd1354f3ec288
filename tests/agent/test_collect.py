"""Which files are taken while a job still writes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trainyard.agent.collect import Collector
from trainyard.blobs.files import FileStore
from trainyard.contract.errors import ServiceUnavailable


@pytest.fixture
def collector(tmp_path: Path) -> Collector:
    for folder in ("outputs", "logs"):
        (tmp_path / "wd" / folder).mkdir(parents=True)
    store = FileStore(str(tmp_path / "blobs"))
    return Collector(str(tmp_path / "wd"), ("outputs", "logs"), store, print, growing=("logs",))


def names(collector: Collector) -> list[str]:
    return [file.name for file in collector.collect(settled=False)]


def write(collector: Collector, name: str, text: str, age_s: float = 0.0) -> None:
    path = Path(collector.working) / name
    path.write_text(text)
    then = time.time() - age_s
    os.utime(path, (then, then))


def test_a_file_nobody_writes_to_is_taken_once(collector: Collector) -> None:
    write(collector, "outputs/model.pt", "weights", age_s=5)
    assert names(collector) == ["outputs/model.pt"]
    assert names(collector) == []


def test_a_checkpoint_is_not_taken_half_written(collector: Collector) -> None:
    write(collector, "outputs/model.pt", "half")
    assert names(collector) == []
    assert [file.name for file in collector.collect(settled=True)] == ["outputs/model.pt"]


def test_a_log_is_taken_whenever_it_has_grown_by_a_quarter(collector: Collector) -> None:
    write(collector, "logs/events", "x" * 100)
    assert names(collector) == ["logs/events"]
    write(collector, "logs/events", "x" * 124)
    assert names(collector) == []
    write(collector, "logs/events", "x" * 125)
    assert names(collector) == ["logs/events"]
    write(collector, "logs/events", "x" * 126, age_s=5)
    assert names(collector) == ["logs/events"]


def test_what_was_stored_before_a_fault_is_told_of_after_it(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(collector, "outputs/a", "a", age_s=5)
    write(collector, "outputs/b", "b", age_s=5)
    put, asked = collector.store.put_file, []

    def once_away(path: str) -> object:
        asked.append(os.path.basename(path))
        if asked == ["a", "b"]:
            raise ServiceUnavailable("It is away.")
        return put(path)

    monkeypatch.setattr(collector.store, "put_file", once_away)
    with pytest.raises(ServiceUnavailable):
        names(collector)
    assert names(collector) == ["outputs/a", "outputs/b"]
    assert asked == ["a", "b", "b"]
