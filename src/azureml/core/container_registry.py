"""Re-exports: see trainyard.sdk.environments.container_registry."""

from trainyard.sdk.environments.container_registry import ContainerRegistry as ContainerRegistry
