"""The parts of a RunConfiguration: plain attributes with the SDK's defaults."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.environments.environment_sections import DEFAULT_SHM_SIZE
from trainyard.sdk.errors import RunConfigurationException


class MpiConfiguration:
    def __init__(self, process_count_per_node: int = 1, node_count: int = 1) -> None:
        self.process_count_per_node = process_count_per_node
        self.node_count = node_count


class TensorflowConfiguration:
    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        self.worker_count = worker_count
        self.parameter_server_count = parameter_server_count


class PyTorchConfiguration:
    """`process_count` is the total over all nodes; None means one process per node.

    Beyond the SDK: with `max_restarts` the processes are started by torchrun, which starts all of them again when one
    fails, and a run that loses a node is started again on others. With `min_node_count` each start takes as many nodes
    as are free, from that many up to `node_count`."""

    def __init__(
        self,
        communication_backend: str = "Nccl",
        process_count: int | None = None,
        node_count: int = 1,
        max_restarts: int = 0,
        min_node_count: int | None = None,
    ) -> None:
        if str(communication_backend).lower() not in ("nccl", "gloo"):
            raise RunConfigurationException(
                f"communication_backend is {communication_backend!r}; use 'Nccl' or 'Gloo'."
            )
        self.communication_backend = str(communication_backend).capitalize()
        self.process_count = process_count
        self.node_count = node_count
        self.max_restarts = max_restarts
        self.min_node_count = min_node_count


class DockerConfiguration:
    def __init__(
        self,
        use_docker: bool = False,
        shared_volumes: bool = True,
        arguments: list[str] | None = None,
        shm_size: str = DEFAULT_SHM_SIZE,
    ) -> None:
        self.use_docker = use_docker
        self.shared_volumes = shared_volumes
        self.arguments = list(arguments or [])
        self.shm_size = shm_size


class DataReferenceConfiguration:
    def __init__(
        self,
        datastore_name: str | None = None,
        mode: str = "mount",
        path_on_datastore: str | None = None,
        path_on_compute: str | None = None,
        overwrite: bool = False,
    ) -> None:
        self.data_store_name = datastore_name
        self.mode = mode
        self.path_on_data_store = path_on_datastore
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite


class AmlComputeConfiguration:
    def __init__(self) -> None:
        self.vm_size: str | None = None
        self.vm_priority: str | None = None
        self._name: str | None = None
        self._retain_cluster = False
        self._cluster_max_node_count = 1


class ContainerInstanceConfiguration:
    def __init__(self) -> None:
        self.region: str | None = None
        self.cpu_cores: float = 2
        self.memory_gb: float = 3.5


class HistoryConfiguration:
    def __init__(self) -> None:
        self.output_collection = True
        self.directories_to_watch: list[str] = ["logs"]
        self.snapshot_project = True


class SparkConfiguration:
    def __init__(self) -> None:
        self.configuration: dict[str, Any] = {"spark.app.name": "Azure ML Experiment", "spark.yarn.maxAppAttempts": 1}


class HdiConfiguration:
    def __init__(self) -> None:
        self.yarn_deploy_mode = "cluster"


class ParallelTaskConfiguration:
    def __init__(self, max_retries_per_worker: int = 0, worker_count_per_node: int = 1) -> None:
        self.max_retries_per_worker = max_retries_per_worker
        self.worker_count_per_node = worker_count_per_node
        self.terminal_exit_codes: list[int] | None = None


class SourceDirectoryDataStore:
    def __init__(self, data_store_name: str | None = None, path_on_data_store: str | None = None) -> None:
        self.data_store_name = data_store_name
        self.path_on_data_store = path_on_data_store
