"""Re-exports: see trainyard.sdk.models.model_profile."""

from trainyard.sdk.models.model_profile import ModelProfile as ModelProfile
