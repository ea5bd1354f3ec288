"""Re-exports: see trainyard.sdk.workspace."""

from trainyard.sdk.errors import AuthenticationException as AuthenticationException
from trainyard.sdk.errors import ProjectSystemException as ProjectSystemException
from trainyard.sdk.errors import UserErrorException as UserErrorException
from trainyard.sdk.errors import WorkspaceException as WorkspaceException
from trainyard.sdk.workspace import Workspace as Workspace
