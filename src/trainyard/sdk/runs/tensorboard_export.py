"""export_to_tensorboard: what runs have logged, as event files that TensorBoard shows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from trainyard.contract.metrics import MetricSeries
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.runs.event_files import Scalar, encode, header
from trainyard.sdk.runs.run import Run


def export_to_tensorboard(run_data: Any, logsdir: str, logger: Any = None, recursive: bool = True) -> None:
    """Writes one folder of events per run below `logsdir`. `run_data` is a run, a list of runs, or an experiment; with
    `recursive` the runs below them too. Exported again, a run's events take the place of the earlier ones.

    A value keeps its step where it was logged with one. Else its step is its place among all values of its run.
    """
    if logger is None:
        import logging

        logger = logging.getLogger("azureml.tensorboard")
    for run in _runs(run_data, recursive):
        folder = os.path.join(os.fspath(logsdir), run.id)
        os.makedirs(folder, exist_ok=True)
        series = run._all_series()
        scalars = list(in_order(series))
        began = scalars[0].wall_time if scalars else 0.0
        path = os.path.join(folder, "events.out.tfevents.exported")
        with open(path + ".part", "wb") as file:
            file.write(header(began))
            file.writelines(encode(scalar) for scalar in scalars)
        os.replace(path + ".part", path)
        logger.info("Run %s: %d values of %d metrics exported to %s", run.id, len(scalars), len(series), folder)


def in_order(series: Iterable[MetricSeries]) -> Iterator[Scalar]:
    """The numbers of all metrics as they were logged, one behind the other; columns of rows and tables have the tag
    `metric/column`."""
    logged = [
        (time_ns, one.name, step, value)
        for one in series
        for value, step, time_ns in zip(one.values, one.steps, one.times_ns, strict=True)
    ]
    logged.sort(key=lambda each: each[0])
    count = 0
    for time_ns, name, step, value in logged:
        for tag, number in _numbers(name, value):
            yield Scalar(tag, count if step is None else step, time_ns / 1e9, number)
            count += 1


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float):
        yield name, _float(value)
    elif isinstance(value, dict):
        columns = value.get("row") or value.get("table") or {}
        for column, cells in columns.items() if isinstance(columns, dict) else ():
            for cell in cells if isinstance(cells, list) else [cells]:
                if isinstance(cell, int | float):
                    yield f"{name}/{column}", _float(cell)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _runs(run_data: Any, recursive: bool) -> Iterator[Run]:
    if isinstance(run_data, Run):
        yield run_data
        if recursive:
            yield from run_data.get_children(recursive=True)
    elif hasattr(run_data, "get_runs"):
        yield from run_data.get_runs(include_children=recursive)
    elif isinstance(run_data, Iterable) and not isinstance(run_data, str | bytes):
        for one in run_data:
            yield from _runs(one, recursive)
    else:
        raise UserErrorException(
            f"export_to_tensorboard takes a run, a list of runs or an experiment, not a {type(run_data).__name__}."
        )
