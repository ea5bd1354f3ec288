import json
import os

import pytest

from trainyard.sdk.environments import curated
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import UserErrorException

# What the documentation of 2020 listed, and what published notebooks ask for beside it.
FAMILIES = {
    "AzureML-TensorFlow-{}-{}": ("1.10", "1.12", "1.13", "2.0", "2.1", "2.2"),
    "AzureML-PyTorch-{}-{}": ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"),
    "AzureML-Chainer-{}-{}": ("5.1.0",),
}
OTHERS = """AzureML-AutoML AzureML-AutoML-GPU AzureML-AutoML-DNN AzureML-AutoML-DNN-GPU AzureML-AutoML-DNN-Vision-GPU
AzureML-Designer AzureML-Hyperdrive-ForecastDNN AzureML-Minimal AzureML-Sidecar AzureML-Tutorial
AzureML-VowpalWabbit-8.8.0 AzureML-Dask-CPU AzureML-Dask-GPU AzureML-PySpark-MmlSpark-0.15 AzureML-Scikit-learn-0.20.3
AzureML-sklearn-1.5 azureml-sklearn-1.5 azureml-tensorflow-2.11-cuda11 azureml-acpt-pytorch-2.2-cuda12.1
azureml-acpt-pytorch-1.11-cuda11.3"""
IMAGES = {
    "AzureML-sklearn-0.24-ubuntu18.04-py37-cpu": "scikit-learn",
    "AzureML-sklearn-0.24.1-ubuntu18.04-py37-cpu-inference": "scikit-learn",
    "AzureML-sklearn-1.0-ubuntu20.04-py38-cpu": "scikit-learn",
    "AzureML-lightgbm-3.2-ubuntu18.04-py37-cpu": "lightgbm",
    "AzureML-xgboost-0.9-ubuntu18.04-py37-cpu-inference": "xgboost",
    "AzureML-onnxruntime-1.6-ubuntu18.04-py37-cpu-inference": "onnxruntime",
    "AzureML-minimal-ubuntu18.04-py37-cpu-inference": "azureml-defaults",
    "AzureML-minimal-ubuntu18.04-py37-cuda11.0.3-gpu-inference": "azureml-defaults",
    "AzureML-pytorch-1.7-ubuntu18.04-py37-cpu-inference": "torch",
    "AzureML-pytorch-1.10-ubuntu18.04-py38-cuda11-gpu": "torch",
    "AzureML-ACPT-pytorch-1.12-py39-cuda11.6-gpu": "torch",
    "AzureML-tensorflow-2.4-ubuntu18.04-py37-cuda11-gpu": "tensorflow-gpu",
    "AzureML-tensorflow-2.16-cuda12": "tensorflow-gpu",
}
NAMES = [
    *(
        form.format(version, kind)
        for form, versions in FAMILIES.items()
        for version in versions
        for kind in ("CPU", "GPU")
    ),
    *OTHERS.split(),
    *IMAGES,
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_found_in_either_case(name):
    for spelt in (name, name.lower(), name.replace("azureml", "AzureML", 1)):
        found = curated.find(spelt)
        assert found is not None
        assert found.name.lower() == name.lower()
        assert found.version == "1"


@pytest.mark.parametrize("kind", ["CPU", "GPU"])
def test_chainer_can_train_on_several_nodes(kind):
    """ChainerMN is in chainer and imports mpi4py, which nothing else brings."""
    lines = curated.find(f"AzureML-Chainer-5.1.0-{kind}").python.conda_dependencies.pip_packages
    assert [line for line in lines if not line.startswith("azureml-")] == ["chainer==5.1.0", "mpi4py"]


@pytest.mark.parametrize(("name", "package"), IMAGES.items())
def test_a_framework_stands_for_all_its_images(name, package):
    lines = curated.find(name).python.conda_dependencies.pip_packages
    assert package in [line.partition("==")[0] for line in lines]


@pytest.mark.parametrize("name", ["AzureML-Nonsense", "AzureML-sklearn-ours", "AzureML-sklearn", "AzureML-r-4-cpu"])
def test_a_name_nobody_has(name):
    assert curated.find(name) is None


@pytest.mark.parametrize("name", ["AzureML-mine", "azureml-mine", "AZUREML", "azureMLx"])
def test_the_prefix_is_reserved_in_any_case(name):
    assert curated.is_reserved(name)
    with pytest.raises(UserErrorException, match=r"cannot be registered.*clone\('my-environment'\)"):
        Environment(name).register(None)


def test_each_says_in_words_what_it_has_today():
    folder = os.path.dirname(curated.__file__)
    for name in curated.names():
        with open(os.path.join(folder, f"{name}.yml"), encoding="utf-8") as file:
            text = file.read()
        assert text.startswith(f"# {name}. The original ")
        assert f"\nname: {name}\n" in text


def test_the_packages_of_one_can_be_looked_at_on_disk(tmp_path):
    found = curated.find("AzureML-TensorFlow-2.2-GPU")
    found.save_to_directory(path=str(tmp_path / "env"))
    assert (tmp_path / "env" / "conda_dependencies.yml").read_text() == (
        "# AzureML-TensorFlow-2.2-GPU. The original had tensorflow-gpu 2.2.0 and a horovod on Python 3.6.2. Those\n"
        "# cannot be had for the Pythons of today; the versions below can. tensorflow-gpu is no package of its own "
        "any\n"
        "# more: where there is a GPU tensorflow is taken for it, elsewhere tensorflow-cpu.\n"
        "name: AzureML-TensorFlow-2.2-GPU\n"
        "channels:\n"
        "- conda-forge\n"
        "dependencies:\n"
        "- python>=3.11\n"
        "- pip:\n"
        "  - azureml-core\n"
        "  - azureml-defaults\n"
        "  - azureml-telemetry\n"
        "  - azureml-train-restclients-hyperdrive\n"
        "  - azureml-train-core\n"
        "  - tensorflow-gpu==2.21.0\n"
        "  - tensorboard\n"
        "  - horovod==0.28.1\n"
    )
    said = json.loads((tmp_path / "env" / "azureml_environment.json").read_text())
    assert said["name"] == "AzureML-TensorFlow-2.2-GPU"
    assert said["python"]["frameworkDefaults"] == ["tensorflow-gpu", "tensorboard", "horovod"]
    assert "cuda" in said["docker"]["baseImage"]


def test_a_clone_is_the_users_own():
    mine = curated.find("AzureML-Scikit-learn-0.20.3").clone("mine")
    assert (mine.name, mine.version) == ("mine", None)
    mine.python.conda_dependencies.add_pip_package("scikit-learn==1.5.2")
    assert mine.to_definition()["python"]["frameworkDefaults"] == ["scipy", "joblib"]
    assert not curated.is_reserved(mine.name)
