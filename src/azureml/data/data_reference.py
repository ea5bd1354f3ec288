"""Re-exports: see trainyard.sdk.data.data_reference."""

from trainyard.sdk.data.data_reference import DataReference as DataReference
