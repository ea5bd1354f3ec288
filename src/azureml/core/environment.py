"""Re-exports: see trainyard.sdk.environments.environment."""

from trainyard.sdk.environments.conda_dependencies import CondaDependencies as CondaDependencies
from trainyard.sdk.environments.environment import Environment as Environment
from trainyard.sdk.environments.environment_build import DockerImageDetails as DockerImageDetails
from trainyard.sdk.environments.environment_build import ImageBuildDetails as ImageBuildDetails
from trainyard.sdk.environments.environment_sections import DEFAULT_CPU_IMAGE as DEFAULT_CPU_IMAGE
from trainyard.sdk.environments.environment_sections import DEFAULT_GPU_IMAGE as DEFAULT_GPU_IMAGE
from trainyard.sdk.environments.environment_sections import DatabricksSection as DatabricksSection
from trainyard.sdk.environments.environment_sections import DockerBuildContext as DockerBuildContext
from trainyard.sdk.environments.environment_sections import DockerSection as DockerSection
from trainyard.sdk.environments.environment_sections import PythonSection as PythonSection
from trainyard.sdk.environments.environment_sections import RSection as RSection
from trainyard.sdk.environments.environment_sections import SparkPackage as SparkPackage
from trainyard.sdk.environments.environment_sections import SparkSection as SparkSection
