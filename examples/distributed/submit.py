"""Distributed training on two nodes, one way after the other:

    python submit.py ddp
    python submit.py horovod_torch horovod_tensorflow multi_worker_keras parameter_server

The nodes are logical: they share this machine. What each way needs has to be installed beside this interpreter.
"""

import os
import sys

from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration

WAYS = {
    "ddp": PyTorchConfiguration("Gloo", process_count=2, node_count=2),
    "elastic_ddp": PyTorchConfiguration("Gloo", process_count=2, node_count=2, max_restarts=3, min_node_count=1),
    "horovod_torch": MpiConfiguration(process_count_per_node=1, node_count=2),
    "horovod_tensorflow": MpiConfiguration(process_count_per_node=1, node_count=2),
    "multi_worker_keras": TensorflowConfiguration(worker_count=2, parameter_server_count=0),
    "parameter_server": TensorflowConfiguration(worker_count=2, parameter_server_count=1),
}


def cluster(workspace: Workspace) -> ComputeTarget:
    try:
        return ComputeTarget(workspace, "two-nodes")
    except ComputeTargetException:
        settings = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2)
        made = ComputeTarget.create(workspace, "two-nodes", settings)
        made.wait_for_completion()
        return made


def submit(workspace: Workspace, way: str, arguments: list[str]) -> Run:
    here = Environment("here")
    here.python.user_managed_dependencies = True
    config = ScriptRunConfig(
        source_directory=os.path.join(os.path.dirname(os.path.abspath(__file__)), way),
        script="train.py",
        arguments=arguments,
        compute_target=cluster(workspace),
        environment=here,
        distributed_job_config=WAYS[way],
    )
    return Experiment(workspace, "distributed").submit(config)


def main() -> None:
    workspace = Workspace.create(name="examples", exist_ok=True)
    for way in sys.argv[1:] or ["ddp"]:
        submit(workspace, way, []).wait_for_completion(show_output=True)


if __name__ == "__main__":
    main()
