"""A run in a few lines of text, for where nothing can be drawn."""

from __future__ import annotations

import time
from typing import Any

from trainyard.sdk.runs.screen import elapsed

_MOST_METRICS, _MOST_CHILDREN, _MOST_LINES = 20, 10, 10


def text_of(view: dict[str, Any], now_ms: float | None = None) -> str:
    """`view` as RunView tells it."""
    run = view["run"]
    lines = [f"{run['name'] or run['id']}  {run['status']}{_took(run, now_ms)}"]
    if run["name"]:
        lines.append(f"  id          {run['id']}")
    lines.append(f"  experiment  {run['experiment']}, number {run['number']}")
    lines.append(f"  web view    {run['url']}")
    if not run["over"] and run["reason"]:
        lines.append(f"  now         {run['reason']}")
    if run["error"]:
        lines.append(f"  error       {run['error']['message']}")
    metrics = view["metrics"]
    if metrics:
        lines.append("Metrics")
        lines += [f"  {metric['name']}  {_value(metric)}" for metric in metrics[:_MOST_METRICS]]
        if len(metrics) > _MOST_METRICS:
            lines.append(f"  … and {len(metrics) - _MOST_METRICS} more")
    children = _best_first(view["children"])
    if children:
        lines.append(f"Runs below it: {_how_many(view['children'])}")
        lines += [_child(child, view["children"]["params"]) for child in children[:_MOST_CHILDREN]]
        if len(children) > _MOST_CHILDREN:
            lines.append(f"  … and {len(children) - _MOST_CHILDREN} more")
    if written := view["log"]["text"].rstrip("\n"):
        lines.append(f"The end of {view['log']['name']}")
        drawn = (line.rstrip("\r").rpartition("\r")[2] for line in written.split("\n")[-_MOST_LINES:])
        lines += [f"  {line}" for line in drawn]
    return "\n".join(lines)


def _took(run: dict[str, Any], now_ms: float | None) -> str:
    if run["started"] is None:
        return ""
    now = time.time() * 1000 if now_ms is None else now_ms
    return f"  {elapsed(int(((run['ended'] or now) - run['started']) * 1e6))}"


def _value(metric: dict[str, Any]) -> str:
    if metric["kind"] == "line" and metric["count"] > 1:
        ends = f"{_number(metric['min'])} to {_number(metric['max'])}"
        return f"{_number(metric['last'])}  ({metric['count']} values, {ends})"
    if metric["kind"] == "table":
        return f"{metric['count']} rows of {', '.join(metric['columns'])}"
    return str(metric["file"] if "file" in metric else _number(metric["last"]))


def _best_first(children: dict[str, Any]) -> list[dict[str, Any]]:
    """A sweep's by its primary metric, those without a value last; of others as they were made."""
    if (primary := children.get("primary")) is None:
        return list(children["rows"])
    sign = 1 if primary["smaller"] else -1

    def place(row: dict[str, Any]) -> tuple[bool, float]:
        value = row["metrics"].get(primary["name"])
        return value is None, 0 if value is None else sign * value

    return sorted(children["rows"], key=place)


def _how_many(children: dict[str, Any]) -> str:
    if (primary := children.get("primary")) is None:
        return str(len(children["rows"]))
    return f"{sum(row['over'] for row in children['rows'])} of {primary['total']} are over, the best first"


def _child(child: dict[str, Any], params: list[str]) -> str:
    given = ", ".join(f"{name.lstrip('-')}={child['params'][name]}" for name in params[:4] if name in child["params"])
    found = ", ".join(f"{name}={_number(value)}" for name, value in list(child["metrics"].items())[:3])
    return "  " + "  ".join(part for part in (child["name"] or child["id"], _status(child), given, found) if part)


def _status(child: dict[str, Any]) -> str:
    return "Stopped" if child.get("stopped") and child["status"] == "Canceled" else str(child["status"])


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
