"""What an estimator is given, of all generations of the SDK, and which of it does not go together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from trainyard.contract.runs import LOCAL_TARGET
from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import TrainingException

# What says of an environment what an environment_definition says too.
_OF_ENVIRONMENT = (
    "use_gpu",
    "custom_docker_base_image",
    "custom_docker_image",
    "image_registry_details",
    "user_managed",
    "conda_packages",
    "pip_packages",
    "conda_dependencies_file_path",
    "pip_requirements_file_path",
    "conda_dependencies_file",
    "pip_requirements_file",
)
_PACKAGE_LISTS = ("conda_packages", "pip_packages", "pip_requirements_file", "pip_requirements_file_path")
_CLUSTERS = ("AmlCompute", "BatchAI")


@dataclass(frozen=True)
class Parameters:
    source_directory: Any = None
    compute_target: Any = None
    vm_size: str | None = None
    vm_priority: str | None = None
    entry_script: str | None = None
    script_params: dict[str, Any] | None = None
    node_count: int = 1
    process_count_per_node: int = 1
    worker_count: int = 1
    parameter_server_count: int = 1
    distributed_backend: str | None = None
    distributed_training: Any = None
    use_gpu: bool = False
    use_docker: bool = True
    custom_docker_base_image: str | None = None
    custom_docker_image: str | None = None
    image_registry_details: Any = None
    user_managed: bool = False
    conda_packages: list[str] | None = None
    pip_packages: list[str] | None = None
    conda_dependencies_file_path: str | None = None
    pip_requirements_file_path: str | None = None
    conda_dependencies_file: str | None = None
    pip_requirements_file: str | None = None
    environment_variables: dict[str, str] | None = None
    environment_definition: Any = None
    inputs: list[Any] | None = None
    source_directory_data_store: Any = None
    shm_size: str | None = None
    resume_from: Any = None
    max_run_duration_seconds: int | None = None
    framework_version: str | None = None

    @staticmethod
    def of(said: Mapping[str, Any]) -> Parameters:
        """From the local names of a constructor that has just begun."""
        return Parameters(**{it.name: said[it.name] for it in fields(Parameters) if it.name in said})

    @property
    def image(self) -> str | None:
        return self.custom_docker_image or self.custom_docker_base_image

    @property
    def conda_file(self) -> str | None:
        return self.conda_dependencies_file or self.conda_dependencies_file_path

    @property
    def pip_file(self) -> str | None:
        return self.pip_requirements_file or self.pip_requirements_file_path

    def check(self) -> None:
        self._check_target()
        self._check_twins()
        if self.environment_definition is not None and (beside := self._given(_OF_ENVIRONMENT)):
            raise TrainingException(
                f"environment_definition says everything about the environment, so {', '.join(beside)} cannot be given "
                "with it. Put them into the Environment."
            )
        if self.conda_file and (beside := self._given(_PACKAGE_LISTS)):
            raise TrainingException(
                f"A conda dependencies file lists all packages, so {', '.join(beside)} cannot be given with it. Put "
                "them into the file."
            )
        pass_over_source_store(self.source_directory_data_store)

    def _check_target(self) -> None:
        if self.compute_target is None and not self.vm_size:
            raise TrainingException("Nothing says where to train. Give compute_target, or vm_size for a cluster of it.")
        if self.node_count > 1 and self.compute_target is not None:
            kind = getattr(self.compute_target, "type", None)
            if self.compute_target == LOCAL_TARGET or (kind is not None and kind not in _CLUSTERS):
                raise TrainingException(
                    f"node_count is {self.node_count}, and a target of the kind {kind or LOCAL_TARGET} has one node. "
                    "Give an AmlCompute cluster as compute_target."
                )

    def _check_twins(self) -> None:
        for new, old in (
            ("custom_docker_image", "custom_docker_base_image"),
            ("conda_dependencies_file", "conda_dependencies_file_path"),
            ("pip_requirements_file", "pip_requirements_file_path"),
        ):
            if getattr(self, new) and getattr(self, old) and getattr(self, new) != getattr(self, old):
                tell_once(f"{old} has no effect here: it is the older name of {new}, which is given too.")

    def _given(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if getattr(self, name)]


def pass_over_source_store(store: Any) -> None:
    if store is not None:
        tell_once("source_directory_data_store has no effect here: the service itself keeps the source directory.")


def source_file(source_directory: str, name: str) -> str:
    """A file named in a parameter: below the source directory, else as it is written."""
    below = os.path.join(os.path.expanduser(os.fspath(source_directory)), name)
    return below if os.path.exists(below) else name
