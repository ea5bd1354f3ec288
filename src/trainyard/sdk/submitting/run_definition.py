"""A RunConfiguration as the SDK's runDefinition JSON and back: what get_details() shows and .runconfig files hold."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.computes.transient_cluster import CONTAINER_TARGET
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.runs.run_data import as_text, shown
from trainyard.sdk.submitting.elastic import is_elastic
from trainyard.sdk.submitting.runconfig import RunConfiguration
from trainyard.sdk.submitting.runconfig_parts import DataReferenceConfiguration, PyTorchConfiguration

# definition key → attribute of the part, part by part
_PARTS: dict[str, tuple[str, dict[str, str]]] = {
    "history": (
        "history",
        {
            "outputCollection": "output_collection",
            "directoriesToWatch": "directories_to_watch",
            "snapshotProject": "snapshot_project",
        },
    ),
    "spark": ("spark", {"configuration": "configuration"}),
    "parallelTask": (
        "paralleltask",
        {
            "maxRetriesPerWorker": "max_retries_per_worker",
            "workerCountPerNode": "worker_count_per_node",
            "terminalExitCodes": "terminal_exit_codes",
        },
    ),
    "amlCompute": (
        "amlcompute",
        {
            "name": "_name",
            "vmSize": "vm_size",
            "vmPriority": "vm_priority",
            "retainCluster": "_retain_cluster",
            "clusterMaxNodeCount": "_cluster_max_node_count",
        },
    ),
    "tensorflow": (
        "tensorflow",
        {"workerCount": "worker_count", "parameterServerCount": "parameter_server_count"},
    ),
    "mpi": ("mpi", {"processCountPerNode": "process_count_per_node"}),
    "pyTorch": ("pytorch", {"communicationBackend": "communication_backend", "processCount": "process_count"}),
    "hdi": ("hdi", {"yarnDeployMode": "yarn_deploy_mode"}),
    "docker": (
        "docker",
        {
            "useDocker": "use_docker",
            "sharedVolumes": "shared_volumes",
            "shmSize": "shm_size",
            "arguments": "arguments",
        },
    ),
}
_ELASTIC = {
    "maxRestarts": "max_restarts",
    "minNodeCount": "min_node_count",
}  # words of ours, so only where they say something
_CONTAINER = {  # words of the first releases, so only where it is the target
    "region": "region",
    "cpuCores": "cpu_cores",
    "memoryGb": "memory_gb",
}
_REFERENCE = {
    "dataStoreName": "data_store_name",
    "mode": "mode",
    "pathOnDataStore": "path_on_data_store",
    "pathOnCompute": "path_on_compute",
    "overwrite": "overwrite",
}


def to_definition(config: RunConfiguration) -> dict[str, Any]:
    definition: dict[str, Any] = {
        "script": config.script,
        "command": " ".join(map(str, config.command)) if isinstance(config.command, list) else config.command or "",
        "useAbsolutePath": False,
        "arguments": as_text(config.arguments),
        "sourceDirectoryDataStore": None,
        "framework": config.framework,
        "communicator": config.communicator,
        "target": config.target,
        "dataReferences": {name: _values(it, _REFERENCE) for name, it in config.data_references.items()},
        "data": shown(config.data),
        "outputData": shown(config.output_data),
        "datacaches": list(config.datacaches),
        "jobName": None,
        "maxRunDurationSeconds": config.max_run_duration_seconds,
        "nodeCount": config.node_count,
        "priority": config.priority,
        "credentialPassthrough": config.credential_passthrough,
        "identity": config.identity,
        "environment": config.environment.to_definition(),
    }
    for key, (part, attributes) in _PARTS.items():
        definition[key] = _values(getattr(config, part), attributes)
    if is_elastic(config.pytorch):
        definition["pyTorch"] |= _values(config.pytorch, _ELASTIC)
    if config.target == CONTAINER_TARGET:
        definition["containerInstance"] = _values(config.container_instance, _CONTAINER)
    definition["environmentVariables"] = {str(key): str(value) for key, value in config.environment_variables.items()}
    return definition


def from_definition(said: dict[str, Any]) -> RunConfiguration:
    made = RunConfiguration(
        script=said.get("script"),
        arguments=said.get("arguments"),
        framework=said.get("framework"),
        communicator=said.get("communicator"),
        command=said.get("command") or None,
    )
    made.target = said.get("target")
    made.max_run_duration_seconds = said.get("maxRunDurationSeconds")
    made.node_count = int(said.get("nodeCount") or 1)
    made.priority = said.get("priority")
    made.credential_passthrough = bool(said.get("credentialPassthrough", False))
    made.identity = said.get("identity")
    if said.get("environment"):
        made.environment = Environment.from_definition(said["environment"])
    for key, (part, attributes) in _PARTS.items():
        _set(getattr(made, part), attributes, said.get(key) or {})
    _set(made.container_instance, _CONTAINER, said.get("containerInstance") or {})
    made.pytorch = PyTorchConfiguration(made.pytorch.communication_backend, made.pytorch.process_count)
    _set(made.pytorch, _ELASTIC, said.get("pyTorch") or {})
    for name, reference in (said.get("dataReferences") or {}).items():
        made.data_references[name] = DataReferenceConfiguration()
        _set(made.data_references[name], _REFERENCE, reference)
    made.data = dict(said.get("data") or {})
    made.output_data = dict(said.get("outputData") or {})
    made.environment_variables = dict(said.get("environmentVariables") or {})
    return made


def _values(part: Any, attributes: dict[str, str]) -> dict[str, Any]:
    return {key: getattr(part, attribute) for key, attribute in attributes.items()}


def _set(part: Any, attributes: dict[str, str], said: dict[str, Any]) -> None:
    for key, attribute in attributes.items():
        if key in said:
            setattr(part, attribute, said[key])
