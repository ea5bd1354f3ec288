"""Counts and latencies of a service, as Prometheus reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable

from trainyard.serving.pool import Pool

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


class Histogram:
    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        total = 0
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self._sum:.9g}"
        yield f"{name}_count{{{labels}}} {total}"


class Metrics:
    def __init__(self, service: str) -> None:
        self._service = service
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(_SECONDS))
        self._run: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(_SECONDS))
        self._batches: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(_SIZES))
        self._mirrored: Counter[tuple[str, int]] = Counter()

    def answered(self, version: str, status: int, seconds: float) -> None:
        self._requests[version, status] += 1
        self._seconds[version].add(seconds)

    def ran(self, version: str, seconds: float, batch: int) -> None:
        self._run[version].add(seconds)
        self._batches[version].add(batch)

    def mirrored(self, version: str, status: int) -> None:
        self._mirrored[version, status] += 1

    def text(self, pools: Iterable[Pool]) -> str:
        return "\n".join([*self._counters(), *self._histograms(), *self._gauges(list(pools))]) + "\n"

    def _labels(self, version: str) -> str:
        return f'service="{_escaped(self._service)}",version="{_escaped(version)}"'

    def _counters(self) -> Iterable[str]:
        for name, help_text, counter in (
            ("trainyard_requests_total", "Requests answered, by status code.", self._requests),
            ("trainyard_mirrored_requests_total", "Copies of requests, their answers thrown away.", self._mirrored),
        ):
            yield from _head(name, help_text, "counter")
            for (version, status), count in sorted(counter.items()):
                yield f'{name}{{{self._labels(version)},code="{status}"}} {count}'

    def _histograms(self) -> Iterable[str]:
        for name, help_text, by_version in (
            ("trainyard_request_seconds", "From the end of a request's head to its answer.", self._seconds),
            ("trainyard_run_seconds", "Inside run(), or the model.", self._run),
            ("trainyard_batch_size", "Size of the batch that a request was handed over in.", self._batches),
        ):
            yield from _head(name, help_text, "histogram")
            for version, histogram in sorted(by_version.items()):
                yield from histogram.lines(name, self._labels(version))

    def _gauges(self, pools: list[Pool]) -> Iterable[str]:
        for name, help_text, kind, value in (
            ("trainyard_workers", "Scoring processes that take requests.", "gauge", lambda pool: len(pool.crew.ready)),
            ("trainyard_requests_running", "Requests in a scoring process.", "gauge", lambda pool: pool.crew.busy),
            ("trainyard_requests_waiting", "Requests in the queue.", "gauge", lambda pool: pool.waiting),
            ("trainyard_worker_restarts_total", "Processes started again.", "counter", lambda pool: pool.crew.restarts),
        ):
            yield from _head(name, help_text, kind)
            for pool in pools:
                yield f"{name}{{{self._labels(pool.scorer.version)}}} {value(pool)}"


def _head(name: str, help_text: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
