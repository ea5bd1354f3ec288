"""A sweep in a real database whose children live as the test says: no agents, no processes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trainyard.contract.runs import RunError
from trainyard.contract.states import RunState
from trainyard.contract.sweeps import SWEEP_LOG
from trainyard.contract.tape import TapeWriter
from trainyard.server.context import Context
from trainyard.server.metrics import service as metrics
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import run_row
from trainyard.server.scope import Scope
from trainyard.server.sweeps.conduct import Conductor

SPEC: dict[str, Any] = {
    "space": {"lr": ["uniform", [0, 1]]},
    "metric": "acc",
    "goal": "MAXIMIZE",
    "max_total_runs": 4,
    "max_concurrent_runs": 2,
    "run": {"script": "train.py", "arguments": ["--fixed", "1"]},
}
_STEPS = (RunState.PREPARING, RunState.QUEUED, RunState.STARTING, RunState.RUNNING)


@dataclass
class SweepYard:
    context: Context
    call: Any
    folder: Path
    workspace: str = ""
    offsets: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workspace = self.call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
        self.conductor = Conductor(self.context)

    @property
    def url(self) -> str:
        return f"/api/v1/workspaces/{self.workspace}"

    def create(self, run_id: str = "HD_1", **changes: Any) -> Any:
        return self.call(
            "POST", f"{self.url}/sweeps", {"experiment": "e", "run_id": run_id, "spec": {**SPEC, **changes}}
        )

    def refused(self, **changes: Any) -> str:
        answer = self.create(**changes)
        assert answer.status == 400, answer.body
        assert answer.json["error"]["code"] == "request.sweep"
        assert self.call("POST", f"{self.url}/runs/find", {}).json == []
        return str(answer.json["error"]["message"])

    def look(self) -> float | None:
        return self.conductor.look()

    def restart(self) -> None:
        """The service was killed: what it remembered is gone."""
        self.conductor = Conductor(self.context)

    def later(self, seconds: float) -> None:
        clock = self.context.clock
        self.context = replace(self.context, clock=lambda: clock() + int(seconds * 1e9))
        self.restart()

    def sweep(self, run_id: str = "HD_1") -> Any:
        return self.call("GET", f"{self.url}/sweeps/{run_id}").json

    def run(self, run_id: str = "HD_1") -> Any:
        return self.call("GET", f"{self.url}/runs/{run_id}").json

    def delete(self, *run_ids: str) -> Any:
        return self.call("POST", f"{self.url}/runs/delete", {"run_ids": run_ids, "dry_run": False})

    def states(self, run_id: str = "HD_1") -> list[str]:
        return [child["state"] for child in self.sweep(run_id)["children"]]

    def log(self, run_id: str = "HD_1") -> str:
        body: bytes = self.call("GET", f"{self.url}/runs/{run_id}/log?name={SWEEP_LOG}").body
        return body.decode()

    def starts(self, *indices: int, sweep: str = "HD_1") -> None:
        for index in indices:
            self._walk(f"{sweep}_{index}", *_STEPS)

    def ends(self, index: int, *values: float, state: RunState = RunState.COMPLETED, sweep: str = "HD_1") -> None:
        """The child has logged these values and is over."""
        run_id = f"{sweep}_{index}"
        if values:
            self.logs(index, *values, sweep=sweep)
        if self.run(run_id)["state"] == "NotStarted":
            self.starts(index, sweep=sweep)
        error = None
        if state is RunState.FAILED:
            error = RunError("UserError", "It broke.", last_lines=("Traceback", "ValueError: no"))
        self._walk(run_id, state, error=error)

    def logs(self, index: int, *values: float, name: str = "acc", sweep: str = "HD_1") -> None:
        run_id = f"{sweep}_{index}"
        path = self.folder / f"{run_id}-{len(self.offsets)}"
        tape = TapeWriter(str(path))
        for value in values:
            tape.number(name, value)
        stream = path.name
        self.offsets[stream] = 1
        with self.context.db.write() as tx:
            row = run_row(tx, self.workspace, run_id)
            metrics.apply_cells(tx, Scope(row.key, row.workspace_id, "ada"), 1, stream, 0, path.read_bytes())

    def _walk(self, run_id: str, *states: RunState, error: RunError | None = None) -> None:
        with self.context.db.write() as tx:
            row = run_row(tx, self.workspace, run_id)
            writer = Writer(tx, self.context.authenticator, self.context.clock(), "service")
            for state in states:
                row = writer.move(row, state, "the test says so", error)
