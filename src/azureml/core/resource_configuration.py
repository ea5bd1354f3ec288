"""Re-exports: see trainyard.sdk.models.resource_configuration."""

from trainyard.sdk.models.resource_configuration import ResourceConfiguration as ResourceConfiguration
