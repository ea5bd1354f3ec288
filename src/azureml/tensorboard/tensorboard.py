"""Re-exports: see trainyard.sdk.runs.tensorboard."""

from trainyard.sdk.runs.tensorboard import LOGS_DIR as LOGS_DIR
from trainyard.sdk.runs.tensorboard import Tensorboard as Tensorboard
