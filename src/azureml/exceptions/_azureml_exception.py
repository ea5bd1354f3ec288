"""Where the SDK itself kept them, and some scripts found them. Re-exports: see trainyard.sdk.errors."""

from trainyard.sdk.errors import ActivityFailedException as ActivityFailedException
from trainyard.sdk.errors import AuthenticationException as AuthenticationException
from trainyard.sdk.errors import AzureMLException as AzureMLException
from trainyard.sdk.errors import ComputeTargetException as ComputeTargetException
from trainyard.sdk.errors import ExperimentExecutionException as ExperimentExecutionException
from trainyard.sdk.errors import ModelNotFoundException as ModelNotFoundException
from trainyard.sdk.errors import TrainingException as TrainingException
from trainyard.sdk.errors import UserErrorException as UserErrorException
from trainyard.sdk.errors import WebserviceException as WebserviceException
from trainyard.sdk.errors import WorkspaceException as WorkspaceException
