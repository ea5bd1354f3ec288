"""Re-exports: see trainyard.sdk.errors."""

from trainyard.sdk.errors import ActivityCanceledException as ActivityCanceledException
from trainyard.sdk.errors import ActivityFailedException as ActivityFailedException
from trainyard.sdk.errors import AuthenticationException as AuthenticationException
from trainyard.sdk.errors import AzureMLException as AzureMLException
from trainyard.sdk.errors import ComputeTargetException as ComputeTargetException
from trainyard.sdk.errors import DatasetTimestampMissingError as DatasetTimestampMissingError
from trainyard.sdk.errors import DiscoveryUrlNotFoundException as DiscoveryUrlNotFoundException
from trainyard.sdk.errors import ExperimentExecutionException as ExperimentExecutionException
from trainyard.sdk.errors import ModelNotFoundException as ModelNotFoundException
from trainyard.sdk.errors import ModelPathNotFoundException as ModelPathNotFoundException
from trainyard.sdk.errors import ParallelRunException as ParallelRunException
from trainyard.sdk.errors import ProjectSystemException as ProjectSystemException
from trainyard.sdk.errors import RunConfigurationException as RunConfigurationException
from trainyard.sdk.errors import RunEnvironmentException as RunEnvironmentException
from trainyard.sdk.errors import ServiceException as ServiceException
from trainyard.sdk.errors import SnapshotException as SnapshotException
from trainyard.sdk.errors import TrainingException as TrainingException
from trainyard.sdk.errors import UserErrorException as UserErrorException
from trainyard.sdk.errors import WebserviceException as WebserviceException
from trainyard.sdk.errors import WorkspaceException as WorkspaceException
