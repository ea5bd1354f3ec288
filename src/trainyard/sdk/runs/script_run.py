"""ScriptRun: a run that was submitted."""

from __future__ import annotations

from typing import Any

from trainyard.contract.runs import SCRIPT_RUN
from trainyard.sdk.runs.run import Run


class ScriptRun(Run):
    RUN_TYPE = SCRIPT_RUN

    def __init__(self, experiment: Any, run_id: str, directory: str | None = None, **kwargs: Any) -> None:
        super().__init__(experiment, run_id, **kwargs)
        self._directory = directory


Run.add_type_provider(SCRIPT_RUN, ScriptRun)
