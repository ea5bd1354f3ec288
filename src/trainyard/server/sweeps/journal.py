"""The lines of a sweep's log, azureml-logs/hyperdrive.txt."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from trainyard.contract.runs import RunError
from trainyard.contract.states import RunState
from trainyard.contract.sweeps import Policy, Sampling, SweepSpec, as_argument, option


def line(now_ns: int, text: str) -> str:
    stamp = datetime.fromtimestamp(now_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{stamp} {text}\n"


def opening(spec: SweepSpec, total: int, seed: int) -> str:
    how = f"{spec.sampling} sampling over {', '.join(spec.space)}"
    how += "" if spec.sampling is Sampling.GRID else f" (seed {seed})"
    policy = "no early termination" if spec.policy is Policy.NONE else f"policy {spec.policy}"
    at_once = "" if spec.max_concurrent_runs is None else f", {spec.max_concurrent_runs} at once"
    return f"{total} runs{at_once}; {spec.goal.lower()} {spec.metric!r}; {how}; {policy}"


def sampled(parameters: Mapping[str, Any]) -> str:
    return shlex.join(part for name, value in parameters.items() for part in (option(name), as_argument(value)))


def number(index: int) -> str:
    return f"#{index:<4}"


def started(index: int, parameters: Mapping[str, Any], begins_with: str | None) -> str:
    going_on = f"   going on from {begins_with}" if begins_with is not None else ""
    return f"{number(index)} started    {sampled(parameters)}{going_on}"


def ended(
    index: int, state: RunState, metric: str, best: float | None, leads: bool, reports: int, error: RunError | None
) -> str:
    if best is not None:
        what = f"{metric} {best:.6g}" + ("   best so far" if leads else "")
    else:
        what = f"{metric!r} was never a finite number" if reports else f"never logged {metric!r}"
    why = "" if error is None else f"   {error.message}"
    if error is not None and error.last_lines:
        why += f" Its last line: {error.last_lines[-1].strip()}"
    return f"{number(index)} {state:<10} {what}{why}"


def nobody_logs(metric: str, run_id: str, logged: Iterable[str], over: bool) -> str:
    """The primary metric has no value anywhere, and a run was there long enough to have logged one."""
    names = sorted(logged)
    said = f"it logged {', '.join(map(repr, names[:8]))}" if names else "it logged nothing"
    close = difflib.get_close_matches(metric.lower(), [name.lower() for name in names], n=1, cutoff=0.5)
    meant = next((f" Did you mean {name!r}?" for name in names if close and name.lower() == close[0]), "")
    when = "has ended" if over else "has been running for a while"
    return (
        f"No run of this sweep has logged the primary metric {metric!r}. {run_id} {when}, and {said}.{meant} "
        "primary_metric_name must be the name that the script passes to run.log(name, value)."
    )
