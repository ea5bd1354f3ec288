"""The estimator of scikit-learn: one node, no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.sdk.estimators.estimator_base import FrameworkEstimator
from trainyard.sdk.estimators.estimator_parameters import Parameters
from trainyard.sdk.estimators.frameworks import SKLEARN, Framework

if TYPE_CHECKING:
    from trainyard.sdk.environments.environment import Environment


class SKLearn(FrameworkEstimator):
    FRAMEWORK_NAME = SKLEARN.name
    DEFAULT_VERSION = SKLEARN.default
    _framework: ClassVar[Framework | None] = SKLEARN

    def __init__(
        self,
        source_directory: str,
        *,
        compute_target: Any = None,
        vm_size: str | None = None,
        vm_priority: str | None = None,
        entry_script: str | None = None,
        script_params: dict[str, Any] | None = None,
        use_docker: bool = True,
        custom_docker_image: str | None = None,
        image_registry_details: Any = None,
        user_managed: bool = False,
        conda_packages: list[str] | None = None,
        pip_packages: list[str] | None = None,
        conda_dependencies_file_path: str | None = None,
        pip_requirements_file_path: str | None = None,
        conda_dependencies_file: str | None = None,
        pip_requirements_file: str | None = None,
        environment_variables: dict[str, str] | None = None,
        environment_definition: Environment | None = None,
        inputs: list[Any] | None = None,
        shm_size: str | None = None,
        resume_from: Any = None,
        max_run_duration_seconds: int | None = None,
        framework_version: str | None = None,
    ) -> None:
        super().__init__(Parameters.of(locals()))
