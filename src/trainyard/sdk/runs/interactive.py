"""start_logging: a run whose process is the one that asks for it."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from trainyard.contract.names import new_id
from trainyard.contract.runs import NewRun
from trainyard.sdk.effects import tell_once
from trainyard.sdk.labels import as_tags
from trainyard.sdk.runs.run import Run

if TYPE_CHECKING:
    from trainyard.sdk.experiment import Experiment


def start(
    experiment: Experiment,
    name: str | None = None,
    run_id: str | None = None,
    outputs: str | None = None,
    snapshot_directory: str | None = ".",
    display_name: str | None = None,
    tags: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Run:
    """Opens the run. `./outputs` (or `outputs`) is made at once and uploaded when the run ends; the folder
    `snapshot_directory` is kept as it is now, unless it is None."""
    for given in kwargs:
        tell_once(f"Experiment.start_logging: {given} has no effect with Trainyard.")
    folder = os.path.abspath(outputs or "outputs")
    os.makedirs(folder, exist_ok=True)
    properties: dict[str, str] = {}
    if snapshot_directory is not None:
        from trainyard.sdk.submitting.submit import take_snapshot

        _, properties = take_snapshot(experiment.workspace, os.path.abspath(snapshot_directory))
    new = NewRun(
        experiment.name,
        run_id=run_id or new_id(),
        display_name=display_name or name,
        tags=as_tags(tags),
        properties=properties,
    )
    record = experiment.workspace._clients.runs.create(new)
    return Run(experiment, record.run_id, folder, _record=record)


class OutputCopy:
    """What is printed, copied to a file while it also goes where it went before."""

    def __init__(self) -> None:
        fd, self.path = tempfile.mkstemp(suffix=".txt")
        self._file = os.fdopen(fd, "w", encoding="utf-8", errors="replace")
        self._before = sys.stdout
        sys.stdout = self

    def write(self, text: str) -> int:
        self._file.write(text)
        self._file.flush()
        return self._before.write(text)

    def flush(self) -> None:
        self._before.flush()

    def close(self) -> None:
        if sys.stdout is self:
            sys.stdout = self._before
        self._file.close()
        os.unlink(self.path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._before, name)
