"""Sends train.py to a cluster of this machine and waits for it: the words of the Azure ML SDK, unchanged."""

import os

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException


def main() -> None:
    ws = Workspace.create(name="digits", exist_ok=True)

    try:
        cluster = ComputeTarget(workspace=ws, name="cpu-cluster")
    except ComputeTargetException:
        shape = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=4)
        cluster = ComputeTarget.create(ws, "cpu-cluster", shape)
        cluster.wait_for_completion(show_output=True)

    mine = Environment("my-python")  # the interpreter that runs this file, with the packages it has
    mine.python.user_managed_dependencies = True

    run = Experiment(ws, "read-digits").submit(
        ScriptRunConfig(
            source_directory=os.path.dirname(os.path.abspath(__file__)),
            script="train.py",
            arguments=["--epochs", 5],
            compute_target=cluster,
            environment=mine,
        )
    )
    run.wait_for_completion(show_output=True)

    print("last accuracy:", run.get_metrics()["accuracy"][-1])
    print("files:", *run.get_file_names())
    run.download_files(prefix="outputs", output_directory="downloaded")


if __name__ == "__main__":
    main()
