"""Re-exports: see trainyard.sdk.runs.run."""

from trainyard.sdk.errors import RunEnvironmentException, UserErrorException
from trainyard.sdk.runs.offline_run import OfflineRun as _OfflineRun
from trainyard.sdk.runs.run import Run as Run
from trainyard.sdk.runs.run import get_run
from trainyard.sdk.runs.submitted_run import SubmittedRun as _SubmittedRun

__all__ = ["Run", "RunEnvironmentException", "UserErrorException", "_OfflineRun", "_SubmittedRun", "get_run"]
