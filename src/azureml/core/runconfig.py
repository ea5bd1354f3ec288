"""Re-exports: see trainyard.sdk.submitting.runconfig."""

from typing import Any

from trainyard.sdk.environments.conda_dependencies import CondaDependencies as CondaDependencies
from trainyard.sdk.environments.container_registry import ContainerRegistry as ContainerRegistry
from trainyard.sdk.environments.environment import Environment as Environment
from trainyard.sdk.environments.environment import EnvironmentDefinition as EnvironmentDefinition
from trainyard.sdk.environments.environment_sections import DEFAULT_CPU_IMAGE as DEFAULT_CPU_IMAGE
from trainyard.sdk.environments.environment_sections import DEFAULT_GPU_IMAGE as DEFAULT_GPU_IMAGE
from trainyard.sdk.environments.environment_sections import MPI_CPU_IMAGE as MPI_CPU_IMAGE
from trainyard.sdk.environments.environment_sections import MPI_GPU_IMAGE as MPI_GPU_IMAGE
from trainyard.sdk.environments.environment_sections import DockerSection as DockerSection
from trainyard.sdk.environments.environment_sections import PythonSection as PythonSection
from trainyard.sdk.environments.environment_sections import SparkPackage as SparkPackage
from trainyard.sdk.environments.environment_sections import SparkSection as SparkSection
from trainyard.sdk.submitting.runconfig import RunConfiguration as RunConfiguration
from trainyard.sdk.submitting.runconfig_parts import AmlComputeConfiguration as AmlComputeConfiguration
from trainyard.sdk.submitting.runconfig_parts import ContainerInstanceConfiguration as ContainerInstanceConfiguration
from trainyard.sdk.submitting.runconfig_parts import DataReferenceConfiguration as DataReferenceConfiguration
from trainyard.sdk.submitting.runconfig_parts import DockerConfiguration as DockerConfiguration
from trainyard.sdk.submitting.runconfig_parts import HdiConfiguration as HdiConfiguration
from trainyard.sdk.submitting.runconfig_parts import HistoryConfiguration as HistoryConfiguration
from trainyard.sdk.submitting.runconfig_parts import MpiConfiguration as MpiConfiguration
from trainyard.sdk.submitting.runconfig_parts import ParallelTaskConfiguration as ParallelTaskConfiguration
from trainyard.sdk.submitting.runconfig_parts import PyTorchConfiguration as PyTorchConfiguration
from trainyard.sdk.submitting.runconfig_parts import SourceDirectoryDataStore as SourceDirectoryDataStore
from trainyard.sdk.submitting.runconfig_parts import SparkConfiguration as SparkConfiguration
from trainyard.sdk.submitting.runconfig_parts import TensorflowConfiguration as TensorflowConfiguration


def __getattr__(name: str) -> Any:
    from trainyard.sdk.elsewhere import instead_of, refusal

    if instead_of(full := f"azureml.core.runconfig.{name}") and not name.startswith("_"):
        raise refusal(full)
    raise AttributeError(f"module 'azureml.core.runconfig' has no attribute {name!r}")
