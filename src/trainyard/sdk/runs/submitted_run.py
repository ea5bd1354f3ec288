"""The run that this process is part of."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

from trainyard.contract.attempts import JOB_CONTEXT_VARIABLE, JobContext
from trainyard.sdk.effects import tell_once
from trainyard.sdk.runs.run import Run
from trainyard.sdk.runs.tapes import JobTape, RunTape


def run_of_this_process() -> SubmittedRun | None:
    """The same object at every call; None outside of a job."""
    path = os.environ.get(JOB_CONTEXT_VARIABLE)
    return _run_of(path) if path and os.path.exists(path) else None


@functools.cache
def _run_of(path: str) -> SubmittedRun:
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.workspace import Workspace

    job = JobContext.read(path)
    _last_on_path(job)
    return SubmittedRun(Experiment(Workspace._of_job(job), job.experiment), job)


def _last_on_path(job: JobContext) -> None:
    """What a job needs to submit children comes last, so that the user's own packages count before it."""
    import sys

    if job.last_on_path and job.last_on_path not in sys.path:
        sys.path.append(job.last_on_path)


class SubmittedRun(Run):
    """How the run ends is decided by its processes, not by what is called here."""

    def __init__(self, experiment: Any, job: JobContext) -> None:
        self._job = job
        super().__init__(experiment, job.run_id)

    @property
    def input_datasets(self) -> Mapping[str, Any]:
        """By name: a path for what is mounted or downloaded, else the dataset itself."""
        from trainyard.sdk.data.job_data import inputs

        return inputs(self.experiment.workspace)

    @property
    def output_datasets(self) -> Mapping[str, Any]:
        """By name: the folder to write into."""
        from trainyard.sdk.data.job_data import outputs

        return outputs()

    def complete(self, _set_status: bool = True) -> None:
        """The run is completed when its processes have ended; its agent ships what was logged."""
        self._look_at_events()

    def fail(self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True) -> None:
        """The run fails when a process ends with an exit code other than 0."""
        del error_details, error_code
        self._look_at_events()

    def cancel(self) -> None:
        tell_once("cancel() does nothing inside the run itself: end the script, or cancel the run from outside.")

    def _knows_itself(self) -> bool:
        return True

    def _make_tape(self) -> RunTape:
        return JobTape(lambda: self._runs, self._job)

    def _event_folder(self) -> str:
        return os.path.join(self._job.working, "logs")

    def _carried_from(self) -> str:
        return self._job.attached

    def flush(self, timeout_seconds: float = 300) -> None:
        """Return when the service has what this process logged so far. Nobody has to: the node's agent ships it."""
        self._look_at_events()
        self._tape.flush(timeout_seconds)
        self._attachments.flush(timeout_seconds)

    def _look_at_events(self) -> None:
        if self._events is not None:
            self._events.look()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: Any) -> None:
        self._look_at_events()
