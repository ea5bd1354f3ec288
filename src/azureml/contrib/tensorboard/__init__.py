"""Re-exports: see trainyard.sdk.runs.tensorboard."""

from trainyard.sdk.runs.tensorboard import Tensorboard as Tensorboard
from trainyard.sdk.runs.tensorboard_export import export_to_tensorboard as export_to_tensorboard

__all__ = ["Tensorboard", "export_to_tensorboard"]
