"""Re-exports: see trainyard.sdk.computes.remote."""

from trainyard.sdk.computes.remote import DsvmCompute as DsvmCompute
