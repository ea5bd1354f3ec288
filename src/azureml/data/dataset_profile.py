"""Re-exports: see trainyard.sdk.data.tabular_profile."""

from trainyard.sdk.data.tabular_profile import DatasetProfile as DatasetProfile
