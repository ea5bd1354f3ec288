"""Re-exports: see trainyard.sdk.environments.conda_dependencies."""

from trainyard.sdk.environments.conda_dependencies import CPU as CPU
from trainyard.sdk.environments.conda_dependencies import GPU as GPU
from trainyard.sdk.environments.conda_dependencies import PYTHON_DEFAULT_VERSION as PYTHON_DEFAULT_VERSION
from trainyard.sdk.environments.conda_dependencies import CondaDependencies as CondaDependencies
