"""Re-exports: see trainyard.sdk.workspace."""

from trainyard.sdk.workspace import Workspace as Workspace
