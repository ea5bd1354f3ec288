"""Accuracy tables, predictions and residuals as lines and bars. Pure; what does not fit its schema is not drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

_MOST_CLASSES = 10


def drawing(kind: str, data: Any) -> dict[str, Any] | None:
    """{"lines": [{"label", "points"}]} or {"bars": [(from, to, count)]}, with what the axes are."""
    try:
        found = {"accuracy_table": _roc, "predictions": _predictions, "residuals": _residuals}[kind](data)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None
    return found if found.get("bars") or any(line["points"] for line in found.get("lines", ())) else None


def _roc(data: Any) -> dict[str, Any]:
    """Of each class the rate of true positives over that of false ones, a point for each threshold."""
    labels = data.get("class_labels") or []
    lines = []
    for at, table in enumerate(data["probability_tables"][:_MOST_CLASSES]):
        rates = {(_share(fp, tn), _share(tp, fn)) for tp, fp, tn, fn in table}
        points = sorted(pair for pair in rates if None not in pair)
        lines.append({"label": str(labels[at]) if at < len(labels) else f"class {at}", "points": points})
    return {"lines": [*lines, _DIAGONAL], "across": "false positives", "up": "true positives"}


def _predictions(data: Any) -> dict[str, Any]:
    """What was predicted on average where the true value lay in a bin, one deviation around it, and what was true."""
    middles = [(low + high) / 2 for low, high in pairwise(data["bin_edges"])]
    found = [each for each in zip(middles, data["bin_averages"], data["bin_errors"], strict=True) if _all_real(each)]
    lines = [
        {"label": "predicted", "points": [(x, y) for x, y, _ in found]},
        {"label": "+ deviation", "points": [(x, y + off) for x, y, off in found], "faint": True},
        {"label": "- deviation", "points": [(x, y - off) for x, y, off in found], "faint": True},
        {"label": "ideal", "points": [(x, x) for x, _, _ in found], "faint": True},
    ]
    return {"lines": lines, "across": "true value", "up": "predicted"}


def _residuals(data: Any) -> dict[str, Any]:
    bins = list(zip(pairwise(data["bin_edges"]), data["bin_counts"], strict=True))
    return {"bars": [(low, high, count) for (low, high), count in bins if _all_real((low, high, count))]}


_DIAGONAL = {"label": "chance", "points": [(0.0, 0.0), (1.0, 1.0)], "faint": True}


def _share(part: float, rest: float) -> float | None:
    return part / (part + rest) if part + rest else None


def _all_real(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values)
