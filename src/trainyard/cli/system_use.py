"""What a run used of its nodes, as `trainyard runs show` prints it."""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.cli.output import human_size
from trainyard.contract.metrics import MetricSeries

COLUMNS = ["where", "busy", "at most", "memory at most", "disk read, written", "network in, out"]
_BUSY = ("cpu_percent", "utilization_percent")


def rows(series: Iterable[MetricSeries]) -> list[list[str]]:
    """One for each node, rank and GPU: how busy it was on average and at most, and what else was measured of it."""
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for one in series:
        where, _, what = one.name.rpartition("/")
        found.setdefault(where, {})[what] = tuple(value for value in one.values if isinstance(value, int | float))
    return [_row(where, found[where]) for where in sorted(found, key=_order)]


def _row(where: str, seen: dict[str, tuple[float, ...]]) -> list[str]:
    busy = next((seen[name] for name in _BUSY if seen.get(name)), ())
    memory = seen.get("memory_bytes", ())
    return [
        where.replace("/", " "),
        f"{sum(busy) / len(busy):.0f} %" if busy else "",
        f"{max(busy):.0f} %" if busy else "",
        human_size(int(max(memory))) if memory else "",
        _rates(seen, "disk_read_bytes_per_s", "disk_written_bytes_per_s"),
        _rates(seen, "network_received_bytes_per_s", "network_sent_bytes_per_s"),
    ]


def _rates(seen: dict[str, tuple[float, ...]], first: str, second: str) -> str:
    """At most so much in a second."""
    if not seen.get(first) or not seen.get(second):
        return ""
    return f"{human_size(int(max(seen[first])))}/s, {human_size(int(max(seen[second])))}/s"


def _order(where: str) -> tuple[tuple[str, int], ...]:
    """node-2 before node-10."""
    parts = (part.rpartition("-") for part in where.split("/"))
    return tuple((name, int(number) if number.isdigit() else 0) for name, _, number in parts)
