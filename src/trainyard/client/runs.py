"""Runs: their life, history, logs, metrics and files."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.client.http import Http, quoted
from trainyard.contract.codec import from_json
from trainyard.contract.metrics import MetricChart, MetricSeries
from trainyard.contract.runs import NewRun, RunChange, RunError, RunEvent, RunFile, RunQuery, RunRecord
from trainyard.contract.search import FoundRun, RunParam, RunSearch, SearchPage


class Runs:
    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._workspace = f"/workspaces/{workspace_id}"
        self._path = f"{self._workspace}/runs"

    def create(self, new: NewRun) -> RunRecord:
        """Submit a run or open an interactive one. `new.run_id` makes a second send of the same request harmless."""
        return self._http.post(RunRecord, self._path, new)

    def get(self, run_id: str) -> RunRecord:
        return self._http.get(RunRecord, self._run(run_id))

    def wait(self, run_id: str, seen: int, timeout_s: float = 20.0) -> RunRecord:
        """The run as soon as its history is longer than `seen` events, else after the timeout (at most 20 s)."""
        return self._http.get(RunRecord, f"{self._run(run_id)}/wait", {"seen": seen, "timeout_s": timeout_s})

    def find(self, query: RunQuery) -> list[RunRecord]:
        """One page, newest first."""
        return self._http.post(list[RunRecord], f"{self._path}/find", query)

    def find_all(self, query: RunQuery) -> Iterator[RunRecord]:
        """Every page, one after the other."""
        from dataclasses import replace

        while page := self.find(query):
            yield from page
            if len(page) < query.limit:
                return
            query = replace(query, after=page[-1].run_id)

    def search(self, asked: RunSearch) -> SearchPage:
        """One page of the runs that a query finds."""
        return self._http.post(SearchPage, f"{self._workspace}/search", asked)

    def search_all(self, asked: RunSearch) -> Iterator[FoundRun]:
        """Every page, one after the other."""
        from dataclasses import replace

        while True:
            page = self.search(asked)
            yield from page.runs
            if page.next is None:
                return
            asked = replace(asked, page=page.next)

    def params(self, run_id: str) -> list[RunParam]:
        """What the run was given."""
        return self._http.get(list[RunParam], f"{self._run(run_id)}/params")

    def change(self, run_id: str, change: RunChange) -> RunRecord:
        return from_json(RunRecord, self._http.json("PATCH", self._run(run_id), change))

    def start(self, run_id: str) -> RunRecord:
        return self._http.post(RunRecord, f"{self._run(run_id)}/start")

    def complete(self, run_id: str) -> RunRecord:
        return self._http.post(RunRecord, f"{self._run(run_id)}/complete")

    def fail(self, run_id: str, error: RunError) -> RunRecord:
        return self._http.post(RunRecord, f"{self._run(run_id)}/fail", error)

    def cancel(self, run_id: str) -> RunRecord:
        """Asks for the end. Cancelling a finished run changes nothing."""
        return self._http.post(RunRecord, f"{self._run(run_id)}/cancel")

    def events(self, run_id: str) -> list[RunEvent]:
        return self._http.get(list[RunEvent], f"{self._run(run_id)}/events")

    # Files: the blobs travel through client.blobs; here they get their names.

    def files(self, run_id: str) -> list[RunFile]:
        """Everything the run has, logs included."""
        return self._http.get(list[RunFile], f"{self._run(run_id)}/files")

    def add_files(self, run_id: str, files: list[RunFile]) -> None:
        self._http.json("POST", f"{self._run(run_id)}/files", files)

    # Logs: append-only bytes by offset.

    def read_log(self, run_id: str, name: str, offset: int = 0) -> bytes:
        return self._http.send("GET", f"{self._run(run_id)}/log", query={"name": name, "offset": offset})

    def follow_log(self, run_id: str, name: str, offset: int = 0) -> Iterator[bytes]:
        """Bytes as they are written, until the run is over and everything was sent."""
        return self._http.stream(f"{self._run(run_id)}/log", {"name": name, "offset": offset, "follow": 1})

    # Metrics.

    def metrics(self, run_id: str, name: str | None = None) -> list[MetricSeries]:
        """What was logged, the run's own spool drained first."""
        return self._http.get(list[MetricSeries], f"{self._run(run_id)}/metrics", {"name": name})

    def chart(
        self,
        run_id: str,
        name: str,
        points: int = 1000,
        axis: str = "step",
        low: int | None = None,
        high: int | None = None,
    ) -> MetricChart:
        """A metric as at most `points` points, thinned out by the service; from `low` to `high` on the axis."""
        query = {"name": name, "points": points, "x": axis, "from": low, "to": high}
        return self._http.get(MetricChart, f"{self._run(run_id)}/chart", query)

    def system_metrics(self, run_id: str, name: str | None = None) -> list[MetricSeries]:
        """What its agents measured: CPU, memory, disk, network and GPUs of each node and rank."""
        return self._http.get(list[MetricSeries], f"{self._run(run_id)}/metrics", {"name": name, "system": 1})

    def drain(self, run_id: str) -> None:
        """Have the service take in what an interactive run has spooled on the service's machine."""
        self._http.json("POST", f"{self._run(run_id)}/drain")

    def send_tape(self, run_id: str, stream: str, offset: int, cells: bytes) -> int:
        """Add cells to a stream of an interactive run elsewhere, or to one of the job that this process is part of;
        answers how many bytes of it the service has."""
        query = {"stream": stream, "offset": offset}
        answer = self._http.send("POST", f"{self._run(run_id)}/tape", cells, query)
        return int(answer)

    def _run(self, run_id: str) -> str:
        return f"{self._path}/{quoted(run_id)}"
