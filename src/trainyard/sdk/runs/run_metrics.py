"""A run's metrics: logging them costs one write to a file, reading them gives them back as they were logged."""

from __future__ import annotations

import json
import operator
from typing import Any

from trainyard.contract.runs import RunRecord
from trainyard.sdk.effects import note_once
from trainyard.sdk.errors import AzureMLException, UserErrorException
from trainyard.sdk.labels import run_query
from trainyard.sdk.runs.metric_values import check_single, collapsed, list_values, row_json, scalar, table_jsons
from trainyard.sdk.runs.run_core import RunCore
from trainyard.sdk.runs.tapes import RunTape

_INT64 = 1 << 63
_FLUSH_S = 300.0


class RunMetrics(RunCore):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tape = self._make_tape()

    def log(self, name: str, value: Any, description: str = "", step: int | None = None) -> None:
        """Log one value. Called again with the same name, the values become a list."""
        plain = type(value) is float and step is None and not description and type(name) is str and not self._ended
        if plain and self._tape.number(name, value):  # the whole cost of a call in a training loop
            return
        check_single(name, value)
        if step is not None:
            step = _whole(step)
            plain = type(value) is float and not description and type(name) is str and not self._ended
            if plain and self._tape.number(name, value, step):
                return
        self._kept(self._tape.values(str(name), [scalar(value, str(name))], step), name, description)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        """Log several values under one name at once."""
        if values := list_values(name, value):
            self._kept(self._tape.values(str(name), values), name, description)

    def log_row(self, name: str, description: str | None = None, **kwargs: Any) -> None:
        """Log a row of a table, a column per keyword; each call adds a row."""
        self._kept(self._tape.json(str(name), row_json(name, kwargs)), name, description)

    def log_table(self, name: str, value: dict[str, Any], description: str = "") -> None:
        """Log a whole table: a dict of columns of one length."""
        for text in table_jsons(name, value):
            self._kept(self._tape.json(str(name), text), name, description)

    def get_metrics(
        self, name: str | None = None, recursive: bool = False, run_type: Any = None, populate: bool = False
    ) -> dict[str, Any]:
        """What was logged: {name: value}. With `recursive`, {run id: {name: value}} of this run and all below it.

        A metric that is a file is its address; with `populate`, what is in it: bytes of an image, the dict of a table.
        """
        self._tape.flush(_FLUSH_S)  # what is in the service's own spool it takes in by itself when asked
        if populate:
            self._settle()
        if not recursive:
            return self._metrics_of(self._run_id, name, populate)
        below = run_query(type=run_type, parent_run_id=self._run_id, recursive=True)
        ids = [self._run_id, *(record.run_id for record in self._runs.find_all(below))]
        return {run_id: self._metrics_of(run_id, name, populate) for run_id in ids}

    def get_system_metrics(self, name: str | None = None) -> dict[str, list[float]]:
        """What the run used, sampled by its agents: {"node-0/cpu_percent": [...], "node-0/rank-0/memory_bytes": [...]}.
        Trainyard's own; not in Azure's SDK."""
        series = self._runs.system_metrics(self._run_id, name)
        return {one.name: list(one.values) for one in series}

    def _metrics_of(self, run_id: str, name: str | None, populate: bool) -> dict[str, Any]:
        series = self._runs.metrics(run_id, name)
        if not populate:
            return collapsed(series, lambda file: f"aml://artifactId/ExperimentRun/dcid.{run_id}/{file}")
        return collapsed(series, lambda file: _populated(file, self._content_of(run_id, file)))

    def _content_of(self, run_id: str, name: str) -> bytes:
        raise NotImplementedError

    def flush(self, timeout_seconds: float = _FLUSH_S) -> None:
        """Return when the service has what was logged here so far."""
        self._tape.flush(timeout_seconds)
        if self._tape.in_spool:
            self._runs.drain(self._run_id)

    def _make_tape(self) -> RunTape:
        return RunTape(lambda: self._runs, self._run_id, self._spool)

    def _spool(self) -> str | None:
        """The folder the service reads this run's tapes from, where it has one."""
        try:
            record: RunRecord = self._seen()
        except AzureMLException as error:
            note_once(f"The service cannot be asked where metrics go: {error}. They are sent when it is back.")
            return None
        return record.spool

    def _kept(self, written: bool, name: str, description: str | None) -> None:
        if description and written:
            written = self._tape.describe(str(name), str(description))
        if not written:
            note_once(f"A metric of run {self._run_id} could not be written: the disk refused it. Free some space.")
        if self._ended:
            self._deliver()

    def _deliver(self) -> None:
        """Nobody watches the spool of a run that has ended: what is logged then is handed over call by call."""
        try:
            self.flush()
        except AzureMLException as error:
            note_once(f"A metric of run {self._run_id} was not taken in yet: {error}")


def _whole(step: Any) -> int:
    """Any whole number, numpy's too."""
    try:
        number = operator.index(step)
    except TypeError as error:
        raise UserErrorException(f"step is {step!r}; it must be a whole number.") from error
    if not -_INT64 < number < _INT64:
        raise UserErrorException(f"step is {step!r}; it must be a whole number below 2**63.")
    return number


def _populated(file: str, content: bytes) -> Any:
    return json.loads(content) if file.endswith(".json") else content
