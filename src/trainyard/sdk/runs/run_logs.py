"""A run's logs: which there are, where they are read, what is in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from trainyard.contract import logs
from trainyard.contract.metrics import MetricSeries
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.runs.run_artifacts import RunArtifacts

if TYPE_CHECKING:
    from trainyard.sdk.runs.tensorboard_sync import Follower


class RunLogs(RunArtifacts):
    _events: Follower | None = None

    def get_details_with_logs(self) -> dict[str, Any]:
        from trainyard.sdk.runs import run_details

        workspace, logs = self._experiment.workspace, self._logs(self._log_text)
        return run_details.details(workspace, self._fresh(), logs, self._uses())

    def follow_log(self, rank: int = 0, name: str | None = None) -> Iterator[str]:
        """The lines of what a rank writes, as it writes them, until the run is over; `name` for any other log.
        Trainyard's own; not in Azure's SDK."""
        from trainyard.sdk.runs import run_stream

        return run_stream.lines_of(self._runs, self._run_id, name or self._log_of_rank(rank))

    def _log_of_rank(self, rank: int) -> str:
        """Told by what is there; of a run that has written nothing yet, by its shape."""
        names = [file.name for file in self._runs.files(self._run_id)]
        return logs.chosen(names, rank, self._seen().nodes)

    def get_all_logs(self, destination: str | None = None) -> list[str]:
        """Downloads every log below `destination` (a folder named like the run without one); answers the paths."""
        folder = os.path.abspath(destination or self._run_id)
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise UserErrorException(f"{folder} is a file. Give get_all_logs(destination=...) a folder.")
        names = list(self._logs(lambda name: name))
        for name in names:
            self.download_file(name, os.path.join(folder, name))
        return [os.path.join(folder, name) for name in names]

    def download_logs(self, destination: str | None = None) -> list[str]:
        """What get_all_logs does, under the name people look for."""
        return self.get_all_logs(destination)

    def sync_tensorboard(self, folder: str | None = None) -> None:
        """Have the scalars in TensorBoard's event files as metrics of the run, each once, with their steps and times.

        With a `folder` (inside a job: `./logs` without one) its files are followed until this process ends; rank 0 does
        that for all. Else the run's own files below `logs/` are read, once. Trainyard's own; not in Azure's SDK.
        """
        from trainyard.sdk.runs.tensorboard_sync import Follower, import_logs

        folder = folder or self._event_folder()
        if folder is None:
            import_logs(self, self._tape.point)
            self.flush()
        elif self._tape.rank == 0 and self._events is None:
            self._tape.open()  # what it has to do when this process ends is then done after the last look at the files
            self._events = Follower(folder, self._tape.point)
            self._events.start()

    def flush(self, timeout_seconds: float = 300.0) -> None:
        """Return when the service has what was logged here so far, files and followed events included."""
        if self._events is not None:
            self._events.look()
        super().flush(timeout_seconds)

    def _all_series(self) -> list[MetricSeries]:
        """Everything that was logged, with steps and times."""
        self._tape.flush(300.0)
        return self._runs.metrics(self._run_id)

    def _event_folder(self) -> str | None:
        """Where a job's event files are; other runs have no folder of their own."""
        return None

    def _logs(self, shown: Callable[[str], str]) -> dict[str, str]:
        from trainyard.sdk.runs import run_details

        return run_details.log_files((file.name for file in self._runs.files(self._run_id)), shown)

    def _log_url(self, name: str) -> str:
        import urllib.parse

        from trainyard.contract.service import API

        workspace = self._experiment.workspace
        query = urllib.parse.urlencode({"name": name})
        base = workspace._connection.http.url
        return f"{base}{API}/workspaces/{workspace._workspace_id_internal}/runs/{self._run_id}/log?{query}"

    def _log_text(self, name: str) -> str:
        return self._content(name).decode("utf-8", "replace")
