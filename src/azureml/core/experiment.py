"""Re-exports: see trainyard.sdk.experiment."""

from trainyard.sdk.experiment import Experiment as Experiment
from trainyard.sdk.experiment import ViewType as ViewType
