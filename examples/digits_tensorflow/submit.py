"""Trains with TensorFlow as the pages of 2018 have it: the estimator brings the framework, the cluster the nodes. The
model becomes a web service without a line of code, as the page of 2020 ends."""

import os

from azureml.core import Experiment, Model, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.train.dnn import TensorFlow

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    ws = Workspace.create(name="digits", exist_ok=True)

    try:
        compute_target = ComputeTarget(workspace=ws, name="gpu-cluster")
    except ComputeTargetException:
        shape = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
        compute_target = ComputeTarget.create(ws, "gpu-cluster", shape)
        compute_target.wait_for_completion(show_output=True)

    script_params = {"--batch-size": 50, "--learning-rate": 0.01, "--epochs": 5}

    tf_est = TensorFlow(
        source_directory=os.path.join(HERE, "my-tf-proj"),
        script_params=script_params,
        compute_target=compute_target,
        entry_script="train.py",
        conda_packages=["scikit-learn"],
        use_gpu=True,  # where there is a GPU; where there is none the CPU's TensorFlow is installed
    )

    run = Experiment(ws, "read-digits-tensorflow").submit(tf_est)
    run.wait_for_completion(show_output=True)

    print("last accuracy:", run.get_metrics()["accuracy"][-1])
    run.download_files(prefix="outputs", output_directory="downloaded")

    model = run.register_model(
        model_name="digits",
        model_path="outputs/model",
        model_framework=Model.Framework.TENSORFLOW,
        model_framework_version="2.0",
        resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
    )
    service = Model.deploy(ws, "tensorflow-web-service", [model], overwrite=True)
    service.wait_for_deployment(show_output=True)
    print("an empty image is read as", service.run({"instances": [[0.0] * 64]})["predictions"][0])


if __name__ == "__main__":
    main()
