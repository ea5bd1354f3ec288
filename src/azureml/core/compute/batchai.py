"""Re-exports: see trainyard.sdk.computes.batchai."""

from trainyard.sdk.computes.batchai import BatchAiCompute as BatchAiCompute
