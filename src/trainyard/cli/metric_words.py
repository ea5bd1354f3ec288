"""A metric in few words, for a cell of a table in the terminal."""

from __future__ import annotations

import json
import math
from typing import Any

from trainyard.contract.metrics import MetricSummary


def last_of(metric: MetricSummary, most: int = 40) -> str:
    """Its last value; of a file its name, of a row its cells."""
    if metric.last is not None:
        return number(metric.last)
    if metric.last_text is None:
        return "—"  # NaN or None
    text = _words(metric.last_text)
    return text if len(text) <= most else text[: most - 1] + "…"


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if not math.isfinite(value) or value != int(value) or abs(value) > 1e9 else str(int(value))


def _words(text: str) -> str:
    try:
        value = json.loads(text) if text.startswith('{"') else None
    except ValueError:  # a long one is kept cut
        return text
    if not isinstance(value, dict):
        return text
    if isinstance(value.get("artifact"), str):
        return str(value["artifact"])
    if isinstance(row := value.get("row"), dict):
        return " ".join(f"{name}={_cell(cell)}" for name, cell in row.items())
    if isinstance(table := value.get("table"), dict):
        rows = max((len(cells) for cells in table.values() if isinstance(cells, list)), default=0)
        return f"{rows} row{'s' * (rows != 1)} of {', '.join(table)}"
    return text


def _cell(cell: Any) -> str:
    return number(cell) if isinstance(cell, float) else str(cell)
