"""Which class each type of run is. What is seldom met is imported when it is."""

from __future__ import annotations

from typing import Any

from trainyard.contract.runs import HYPERDRIVE
from trainyard.sdk.runs import script_run  # noqa: F401 - registers itself
from trainyard.sdk.runs.run import Run


def _sweep(experiment: Any, run_id: str, **kwargs: Any) -> Run:
    from trainyard.sdk.hyperdrive.run import HyperDriveRun

    return HyperDriveRun(experiment, run_id, **kwargs)


Run.add_type_provider(HYPERDRIVE, _sweep)
