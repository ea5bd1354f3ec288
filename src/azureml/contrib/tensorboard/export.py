"""Re-exports: see trainyard.sdk.runs.tensorboard_export."""

from trainyard.sdk.runs.tensorboard_export import export_to_tensorboard as export_to_tensorboard
