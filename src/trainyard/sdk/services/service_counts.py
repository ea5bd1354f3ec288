"""How many requests a service answered, and how fast, as it counts them itself at /metrics."""

from __future__ import annotations

import re
from typing import Any

from trainyard.sdk.errors import WebserviceException

_LINE = re.compile(r"^(?P<name>\w+)(?:\{(?P<labels>[^}]*)\})? (?P<value>[-+.\deE]+|NaN|[+-]Inf)$", re.M)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_REQUESTS = "trainyard_requests_total"


def samples(text: str) -> list[tuple[str, dict[str, str], float]]:
    """Prometheus' text, line by line."""
    return [
        (found["name"], dict(_LABEL.findall(found["labels"] or "")), float(found["value"]))
        for found in _LINE.finditer(text)
    ]


def requests_by_status(service: Any) -> dict[str, int]:
    """Empty while it cannot be asked."""
    if not service._record.url:
        return {}
    try:
        answer = service._get("metrics")
    except WebserviceException:
        return {}
    counts: dict[str, int] = {}
    for name, labels, value in samples(answer.content.decode("utf-8", "replace")):
        status = labels.get("status") or labels.get("code")
        if name == _REQUESTS and status:
            counts[status] = counts.get(status, 0) + int(value)
    return dict(sorted(counts.items()))
