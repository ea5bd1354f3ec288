"""A run as something to look at: plain JSON values that the notebook widget draws and the text form prints. A look asks
only for what has changed since the last."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trainyard.contract.metrics import MetricSeries, MetricSummary
from trainyard.contract.runs import HYPERDRIVE, RunFile, RunRecord
from trainyard.contract.search import FoundRun, RunSearch
from trainyard.contract.states import TERMINAL
from trainyard.contract.sweeps import HYPERPARAMETERS, Goal, SweepRecord
from trainyard.sdk.runs.logged_charts import drawing
from trainyard.sdk.runs.run_details import LOG_FOLDERS
from trainyard.sdk.runs.run_stream import wanted_log
from trainyard.sdk.runs.thin import thinned

if TYPE_CHECKING:
    from trainyard.sdk.runs.run import Run

MOST_CHARTS = 60
MOST_POINTS = 400  # of one line
MOST_FETCHED = 5000  # values of one metric; the service thins out longer ones
MOST_SYSTEM, MOST_SYSTEM_POINTS = 1000, 20_000  # lines of nodes and ranks; points of all of them
MOST_ROWS = 50  # of a table
MOST_CHILDREN = 500
MOST_IMAGES, LARGEST_IMAGE = 12, 1 << 20
LOG_TAIL = 48 << 10  # bytes
_IMAGES = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "gif": "gif", "webp": "webp"}


@dataclass
class RunView:
    """`look` answers the parts that changed: run, metrics, system, log, children."""

    of: Run
    chosen_log: str | None = None
    _metric_counts: dict[str, int] = field(default_factory=dict)
    _metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    _log: tuple[str, int, bytes] = ("", 0, b"")
    _seen: dict[str, Any] = field(default_factory=dict)

    def look(self) -> dict[str, Any]:
        record = self.of._fresh()
        files = self.of._runs.files(record.run_id)
        parts = {
            "run": self._run(record),
            "metrics": self._all_metrics(record),
            "system": self._system(record),
            "log": self._tail(files),
            "children": self._children(record),
        }
        changed = {name: part for name, part in parts.items() if self._seen.get(name) != part}
        self._seen |= changed
        return changed

    def whole(self) -> dict[str, Any]:
        """Everything as last seen."""
        return dict(self._seen)

    @property
    def over(self) -> bool:
        return bool(self._seen) and self._seen["run"]["over"]

    def _run(self, record: RunRecord) -> dict[str, Any]:
        events = self.of._runs.events(record.run_id)
        error = record.error
        return {
            "id": record.run_id,
            "name": record.display_name,
            "experiment": record.experiment,
            "number": record.number,
            "type": record.type,
            "status": record.state.value,
            "reason": record.reason,
            "over": record.state in TERMINAL,
            "target": record.target,
            "nodes": record.nodes,
            "script": " ".join([record.spec.script, *record.spec.arguments])
            if record.spec and record.spec.script
            else None,
            "description": record.description,
            "created": record.created_ns / 1e6,
            "started": record.started_ns / 1e6 if record.started_ns else None,
            "ended": record.ended_ns / 1e6 if record.ended_ns else None,
            "url": self.of.get_portal_url(),
            "tags": {key: value or "" for key, value in record.tags.items() if key != HYPERPARAMETERS},
            "parent": record.parent_run_id,
            "error": {"message": error.message, "lines": list(error.last_lines)} if error else None,
            "warnings": list(record.warnings),
            "phases": [
                {"status": each.state.value, "at": each.time_ns / 1e6, "reason": each.reason} for each in events
            ],
        }

    def _system(self, record: RunRecord) -> list[dict[str, Any]]:
        """Of nodes and ranks; the more there are, the fewer points of each."""
        series = self.of._runs.system_metrics(record.run_id)[:MOST_SYSTEM]
        most = max(20, min(MOST_POINTS, MOST_SYSTEM_POINTS // max(1, len(series))))
        return [times(one, record, most) for one in series]

    def _all_metrics(self, record: RunRecord) -> list[dict[str, Any]]:
        self.of._tape.flush(5.0)
        if self.of._tape.in_spool and record.state not in TERMINAL:
            self.of._runs.drain(record.run_id)
        asked = RunSearch(f"attributes.run_id = {json.dumps(record.run_id)}", metrics=None, limit=1, archived="all")
        found = self.of._runs.search(asked).runs
        summaries = sorted(found[0].metrics, key=lambda each: each.name)[:MOST_CHARTS] if found else []
        for summary in summaries:
            if self._metric_counts.get(summary.name) != summary.count:
                if summary.count > MOST_FETCHED and summary.min is not None:
                    self._metrics[summary.name] = self._thinned(record, summary)
                else:
                    for series in self.of._runs.metrics(record.run_id, summary.name):
                        self._metrics[summary.name] = self._shown(series)
                self._metric_counts[summary.name] = summary.count
        return [self._metrics[summary.name] for summary in summaries if summary.name in self._metrics]

    def _thinned(self, record: RunRecord, summary: MetricSummary) -> dict[str, Any]:
        """A long series, as the service draws it."""
        chart = self.of._runs.chart(record.run_id, summary.name, MOST_POINTS)
        return {
            "name": summary.name,
            "kind": "line",
            "about": None,
            "count": summary.count,
            "last": _short(summary.last),
            "min": summary.min,
            "max": summary.max,
            "stepped": True,
            "points": list(zip(chart.x, chart.y, strict=True)),
        }

    def _shown(self, series: MetricSeries) -> dict[str, Any]:
        last = series.values[-1] if series.values else None
        if isinstance(last, dict) and "artifact" in last:
            return self._artifact(series, str(last["artifact"]), str(last.get("kind")))
        if isinstance(last, dict) and ("row" in last or "table" in last):
            return _table(series)
        if any(isinstance(value, int | float) for value in series.values):
            return line(series)
        return {"name": series.name, "kind": "text", "about": series.description, "last": _short(last)}

    def _artifact(self, series: MetricSeries, file: str, kind: str) -> dict[str, Any]:
        shown: dict[str, Any] = {"name": series.name, "kind": kind, "about": series.description, "file": file}
        try:
            content = self.of._content(file)
        except Exception:  # noqa: BLE001 - it is on its way, or gone: the name is shown without it
            return {**shown, "kind": "file"}
        if kind == "confusion_matrix":
            return {**shown, "matrix": _finite(json.loads(content).get("data"))}
        if kind in ("accuracy_table", "predictions", "residuals"):
            drawn = drawing(kind, json.loads(content).get("data"))
            return {**shown, **drawn} if drawn else {**shown, "kind": "file"}
        suffix = _IMAGES.get(file.rpartition(".")[2].lower())
        images = sum(1 for each in self._metrics.values() if each.get("image"))
        if kind == "image" and suffix and len(content) <= LARGEST_IMAGE and images < MOST_IMAGES:
            return {**shown, "image": f"data:image/{suffix};base64,{base64.b64encode(content).decode()}"}
        return {**shown, "kind": "file"}

    def _tail(self, files: Sequence[RunFile]) -> dict[str, Any]:
        sizes = {file.name: file.size for file in files if file.name.startswith(LOG_FOLDERS) and file.digest is None}
        wanted = self.chosen_log if self.chosen_log in sizes else wanted_log(list(sizes), set())
        if wanted is None:
            return {"names": sorted(sizes), "name": None, "text": "", "cut": False}
        name, end, tail = self._log if self._log[0] == wanted else (wanted, max(0, sizes[wanted] - LOG_TAIL), b"")
        if sizes[wanted] > end:
            start = max(end, sizes[wanted] - LOG_TAIL)
            new = self.of._runs.read_log(self.of.id, wanted, start)
            tail = ((tail if start == end else b"") + new)[-LOG_TAIL:]
            end = start + len(new)
        self._log = (name, end, tail)
        return {"names": sorted(sizes), "name": wanted, "text": tail.decode("utf-8", "replace"), "cut": end > len(tail)}

    def _children(self, record: RunRecord) -> dict[str, Any]:
        query = f"attributes.parent = {json.dumps(record.run_id)}"
        found: list[FoundRun] = []
        for child in self.of._runs.search_all(RunSearch(query, metrics=None, limit=200, archived="all")):
            found.append(child)
            if len(found) == MOST_CHILDREN:
                break
        rows = [_child(each) for each in reversed(found)]
        primary = None
        if record.type == HYPERDRIVE:
            primary = _of_sweep(rows, self.of.experiment.workspace._clients.sweeps.get(record.run_id))
        return {
            "rows": rows,
            "primary": primary,
            "params": _varied(rows, "params"),
            "metrics": _names(rows),
        }


def _of_sweep(rows: Sequence[dict[str, Any]], sweep: SweepRecord) -> dict[str, Any]:
    """What a sweep looks for: it colours the lines and sorts the table. A run counts with its best value, not its
    last."""
    from trainyard.sdk.hyperdrive.sweep_table import best_of

    spec, children = sweep.spec, {child.run_id: child for child in sweep.children}
    for row in rows:
        if (child := children.get(row["id"])) is not None:
            row["metrics"][spec.metric] = child.best
            row["stopped"] = child.stopped
    best = best_of(sweep)
    return {
        "name": spec.metric,
        "smaller": spec.goal is Goal.MINIMIZE,
        "space": list(spec.space),
        "logarithmic": [name for name, expression in spec.space.items() if "log" in expression[0]],
        "total": sweep.total,
        "best": best.run_id if best is not None else None,
    }


def line(series: MetricSeries) -> dict[str, Any]:
    """Numbers over their steps, else over their order."""
    pairs = [
        (at if step is None else step, float(value))
        for at, (value, step) in enumerate(zip(series.values, series.steps, strict=True))
        if isinstance(value, int | float) and _is_finite(value)
    ]
    stepped = bool(series.steps) and all(step is not None for step in series.steps)
    if stepped:
        pairs.sort(key=lambda pair: pair[0])
    numbers = [value for _, value in pairs]
    return {
        "name": series.name,
        "kind": "line",
        "about": series.description,
        "count": len(series.values),
        "last": _short(series.values[-1]) if series.values else None,
        "min": min(numbers, default=None),
        "max": max(numbers, default=None),
        "stepped": stepped,
        "points": thinned(pairs, MOST_POINTS),
    }


def times(series: MetricSeries, record: RunRecord, most: int) -> dict[str, Any]:
    """Numbers over the seconds since the run began."""
    began = record.started_ns or record.created_ns
    pairs = [
        (max(0.0, round((time_ns - began) / 1e9, 1)), float(value))
        for value, time_ns in zip(series.values, series.times_ns, strict=True)
    ]
    return {"name": series.name, "kind": "times", "points": thinned(pairs, most)}


def _table(series: MetricSeries) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    rows = 0
    for value in series.values:
        given = value.get("row") or value.get("table") or {} if isinstance(value, dict) else {}
        cells = {name: cell if isinstance(cell, list) else [cell] for name, cell in given.items()}
        for name in cells:
            columns.setdefault(name, [None] * rows)
        height = max(map(len, cells.values()), default=0)
        for name, column in columns.items():
            new = cells.get(name, [])
            column += new + [None] * (height - len(new))
        rows += height
    return {
        "name": series.name,
        "kind": "table",
        "about": series.description,
        "count": rows,
        "columns": {name: [_short(cell) for cell in column[-MOST_ROWS:]] for name, column in columns.items()},
    }


def _child(found: FoundRun) -> dict[str, Any]:
    run = found.run
    return {
        "id": run.run_id,
        "name": run.display_name,
        "number": run.number,
        "status": run.state.value,
        "over": run.state in TERMINAL,
        "started": run.started_ns / 1e6 if run.started_ns else None,
        "ended": run.ended_ns / 1e6 if run.ended_ns else None,
        "params": {**found.params, **_sample(run.tags.get(HYPERPARAMETERS))},
        "metrics": {each.name: _finite(each.last) for each in found.metrics if each.last is not None},
    }


def _sample(text: str | None) -> dict[str, str]:
    """What a sweep gave a run, as its tag tells it."""
    try:
        given = json.loads(text or "{}")
    except ValueError:
        return {}
    return {str(name).lstrip("-"): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def _varied(rows: Sequence[dict[str, Any]], part: str) -> list[str]:
    """Names whose values differ between runs; all of them when nothing differs."""
    names = dict.fromkeys(name for row in rows for name in row[part])
    differ = [name for name in names if len({row[part].get(name) for row in rows}) > 1]
    return differ or list(names)


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row["metrics"]))[:20]


def _short(value: Any) -> Any:
    """Small enough to be shown, and JSON that a browser reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int | float) or value is None:
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an int that no float holds
        return False


def script() -> str:
    """The widget's JavaScript: one module, as notebooks want it."""
    return asset("charts.js") + asset("run_details.js")


def asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as file:
        return file.read()
