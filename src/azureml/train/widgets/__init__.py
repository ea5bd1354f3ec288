"""Re-exports: see trainyard.sdk.runs.run_widget."""

from trainyard.sdk.runs.run_widget import RunDetails as RunDetails

__all__ = ["RunDetails"]
