"""What every part of a run stands on: its experiment, its id, and its record as last seen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from trainyard.client.runs import Runs
from trainyard.contract.runs import RunRecord
from trainyard.contract.states import TERMINAL
from trainyard.sdk.effects import tell_once

if TYPE_CHECKING:
    from trainyard.contract.data import DataUse
    from trainyard.sdk.experiment import Experiment


class RunCore:
    def __init__(
        self,
        experiment: Experiment,
        run_id: str,
        outputs: str | None = None,
        *,
        _record: RunRecord | None = None,
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            if not name.startswith("_"):
                tell_once(f"{type(self).__name__}: {name} has no effect with Trainyard.")
        self._experiment = experiment
        self._run_id = run_id
        self._collected: dict[str, str] = {}  # folders uploaded when the run ends: name in the run → folder
        if outputs is not None:
            self._collected["outputs"] = os.path.abspath(outputs)
        self._record = _record
        self._ended = _record is not None and _record.state in TERMINAL
        if _record is None and not self._knows_itself():
            self._fresh()  # an unknown run is told at once

    @property
    def experiment(self) -> Experiment:
        return self._experiment

    @property
    def id(self) -> str:
        return self._run_id

    def _settle(self) -> None:
        """Before files are read: what this process still has to hand over goes first."""

    def _knows_itself(self) -> bool:
        """Whether this run can be used without asking the service what it is."""
        return False

    @property
    def _runs(self) -> Runs:
        return self._experiment.workspace._clients.runs

    def _fresh(self) -> RunRecord:
        """The record as it is now."""
        return self._saw(self._runs.get(self._run_id))

    def _saw(self, record: RunRecord) -> RunRecord:
        self._record = record
        self._ended = record.state in TERMINAL
        return record

    def _seen(self) -> RunRecord:
        """The record as last seen: for what does not change."""
        return self._record or self._fresh()

    def _uses(self) -> list[DataUse]:
        """What data the run read and left; nobody is asked about a run that was given none."""
        spec = self._seen().spec
        if spec is None or not (spec.inputs or spec.outputs):
            return []
        return self._experiment.workspace._clients.data.uses_of_run(self._run_id)

    def _current(self) -> RunRecord:
        """The record, asked for again unless the run has ended."""
        if self._record is not None and self._record.state in TERMINAL:
            return self._record
        return self._fresh()
