"""Re-exports: see trainyard.sdk.data.dataset_consumption."""

from trainyard.sdk.data.dataset_consumption import DatasetConsumptionConfig as DatasetConsumptionConfig
