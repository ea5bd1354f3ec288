"""The base Estimator: any script, with the packages that are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from trainyard.sdk.estimators.estimator_base import MMLBaseEstimator
from trainyard.sdk.estimators.estimator_parameters import Parameters

if TYPE_CHECKING:
    from trainyard.sdk.environments.environment import Environment


class Estimator(MMLBaseEstimator):
    _backends: ClassVar[tuple[str, ...]] = ("mpi",)

    def __init__(
        self,
        source_directory: str,
        *,
        compute_target: Any = None,
        vm_size: str | None = None,
        vm_priority: str | None = None,
        entry_script: str | None = None,
        script_params: dict[str, Any] | None = None,
        node_count: int = 1,
        process_count_per_node: int = 1,
        distributed_backend: str | None = None,
        distributed_training: Any = None,
        use_gpu: bool = False,
        use_docker: bool = True,
        custom_docker_base_image: str | None = None,
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
        source_directory_data_store: Any = None,
        shm_size: str | None = None,
        resume_from: Any = None,
        max_run_duration_seconds: int | None = None,
    ) -> None:
        super().__init__(Parameters.of(locals()))
