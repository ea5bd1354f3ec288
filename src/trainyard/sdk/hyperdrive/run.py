"""HyperDriveRun: a sweep, followed while it runs and read afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from trainyard.contract.errors import NotFound
from trainyard.contract.runs import HYPERDRIVE, RunRecord
from trainyard.contract.states import RunState
from trainyard.contract.sweeps import SWEEP_LOG, Goal, SweepChild, SweepRecord
from trainyard.sdk.errors import ServiceException, TrainingException
from trainyard.sdk.hyperdrive.errors import HyperDriveNotImplementedException
from trainyard.sdk.runs.run import Run
from trainyard.sdk.runs.screen import put

if TYPE_CHECKING:
    from trainyard.sdk.hyperdrive.config import HyperDriveConfig


class HyperDriveRun(Run):
    RUN_TYPE = HYPERDRIVE
    HYPER_DRIVE_RUN_USER_AGENT = "sdk_run_hyper_drive"

    def __init__(
        self, experiment: Any, run_id: str, hyperdrive_config: HyperDriveConfig | None = None, **kwargs: Any
    ) -> None:
        super().__init__(experiment, run_id, **kwargs)
        self._hyperdrive_config = hyperdrive_config

    @property
    def hyperdrive_config(self) -> HyperDriveConfig:
        """As it was submitted. Read back from the service, it is without what it ran."""
        if self._hyperdrive_config is None:
            from trainyard.sdk.hyperdrive.config import HyperDriveConfig

            self._hyperdrive_config = HyperDriveConfig._of(self._sweep())
        return self._hyperdrive_config

    def get_best_run_by_primary_metric(
        self, include_failed: bool = True, include_canceled: bool = True, include_resume_from_runs: bool = True
    ) -> Run | None:
        """The child with the best value ever logged, not the last; None when nobody logged one."""
        left_out = set() if include_failed else {RunState.FAILED}
        left_out |= set() if include_canceled else {RunState.CANCELED}
        found: list[tuple[float, SweepChild]] = []
        for sweep in self._sweeps(include_resume_from_runs):
            found += [
                (score, child)
                for child in sweep.children
                if child.state not in left_out and (score := _score(sweep, child)) is not None
            ]
        if not found:
            return None
        _, best = max(found, key=lambda each: each[0])
        return Run.get(self._experiment.workspace, best.run_id)

    def get_children_sorted_by_primary_metric(
        self, top: int = 0, reverse: bool = False, discard_no_metric: bool = False
    ) -> list[dict[str, Any]]:
        """Best first, those without a value last; `top` of them, 0 for all."""
        sweep = self._sweep()
        scored = [(score, child) for child in sweep.children if (score := _score(sweep, child)) is not None]
        ranked = [child for _, child in sorted(scored, key=lambda each: each[0], reverse=not reverse)]
        without = [] if discard_no_metric else [child for child in sweep.children if child.best is None]
        chosen = [*ranked, *without]
        return [_said(child) for child in (chosen[:top] if top > 0 else chosen)]

    def get_hyperparameters(self) -> dict[str, str]:
        """Child's id → its sample, as JSON."""
        return {child.run_id: json.dumps(child.parameters) for child in self._sweep().children}

    def get_metrics(self) -> dict[str, Any]:  # type: ignore[override] # the SDK's takes no arguments
        """Child's id → what it logged."""
        ids = [child.run_id for child in self._sweep().children]
        return {run_id: self._metrics_of(run_id, None, populate=False) for run_id in ids}

    def cancel(self) -> bool:  # type: ignore[override] # the SDK's answers whether it was done
        """Asks for the end of the sweep and of its children."""
        if (state := self._current().state) in (RunState.COMPLETED, RunState.FAILED):
            raise TrainingException(f"Sweep {self._run_id} is {state} already, so there is nothing to cancel.")
        super().cancel()
        return True

    def fail(self, *_: Any, **__: Any) -> None:
        raise HyperDriveNotImplementedException("A sweep cannot be marked as failed. End it with run.cancel().")

    def get_diagnostics(self) -> None:
        raise HyperDriveNotImplementedException(
            "A sweep has no diagnostics to download. run.get_all_logs() downloads its log; children have theirs."
        )

    def _sweep(self) -> SweepRecord:
        return self._experiment.workspace._clients.sweeps.get(self._run_id)

    def _sweeps(self, with_earlier: bool) -> list[SweepRecord]:
        """This one, and those it goes on from; what was deleted since is forgotten."""
        sweep = self._sweep()
        found = {sweep.run_id: sweep}
        wanted = list(sweep.spec.resume_from) if with_earlier else []
        while wanted:
            run_id = wanted.pop()
            if run_id not in found and (earlier := self._earlier(run_id)) is not None:
                found[run_id] = earlier
                wanted += earlier.spec.resume_from
        return list(found.values())

    def _earlier(self, run_id: str) -> SweepRecord | None:
        try:
            return self._experiment.workspace._clients.sweeps.get(run_id)
        except ServiceException as error:
            if isinstance(error.inner_exception, NotFound):
                return None
            raise

    def _follow(self, out: TextIO, show: bool | list[int]) -> RunRecord:
        """On a terminal a table that is drawn anew; elsewhere the sweep's log and the table at the end."""
        from trainyard.sdk.hyperdrive import sweep_table
        from trainyard.sdk.runs import run_stream

        del show
        if out.isatty():
            return sweep_table.follow(self._sweep, lambda: self._fresh(), out)
        record = run_stream.stream_one(self._runs, self._fresh(), SWEEP_LOG, out)
        put(out, "\n" + "\n".join(sweep_table.render(self._sweep(), width=110)) + "\n")
        return record


def _score(sweep: SweepRecord, child: SweepChild) -> float | None:
    if child.best is None:
        return None
    return child.best if sweep.spec.goal is Goal.MAXIMIZE else -child.best


def _said(child: SweepChild) -> dict[str, Any]:
    return {
        "run_id": child.run_id,
        "hyperparameters": json.dumps(child.parameters),
        "best_primary_metric": child.best,
        "status": child.state.value,
    }
