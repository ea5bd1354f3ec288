"""Re-exports: see trainyard.sdk.errors."""

from trainyard.sdk.errors import DatasetExecutionError as DatasetExecutionError
from trainyard.sdk.errors import DatasetValidationError as DatasetValidationError
