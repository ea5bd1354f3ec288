"""What is decided about Horovod before and after its build. The build itself takes minutes and is proven by hand."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from trainyard.contract.errors import BuildFailed, EnvironmentRefused
from trainyard.environments.horovod import BUILT, compilers, lacking, missing_tools, patch, shelf, take_out, wheel
from trainyard.environments.locks import Lock
from trainyard.environments.options import PipOptions
from trainyard.environments.pins import Available, Lacking
from trainyard.environments.site import Made
from trainyard.environments.specification import Wanted
from trainyard.environments.uv import Uv


@pytest.mark.parametrize(("cores", "memory_gb", "at_once"), [(2, 24.0, 2), (16, 64.0, 16), (8, 6.0, 4), (4, 1.0, 1)])
def test_a_small_machine_compiles_little_at_once(cores: int, memory_gb: float, at_once: int) -> None:
    assert compilers(cores, memory_gb) == at_once


def test_without_it_nothing_changes() -> None:
    wanted = Wanted(requirements=("numpy",))
    assert take_out(wanted) == (wanted, (), ())


def test_it_is_taken_out() -> None:
    wanted, built, notes = take_out(Wanted(requirements=("horovod", "torch==2.13.0")))
    assert wanted.requirements == ("torch==2.13.0",)
    assert built == (BUILT,)
    assert notes == ()


def test_another_version_is_replaced_only_where_that_is_allowed() -> None:
    old = Wanted(requirements=("horovod==0.19.5", "torch==2.13.0"))
    assert lacking(old) == [Lacking("horovod==0.19.5", Available("horovod", "0.28.1"), filled_in=False)]
    assert lacking(replace(old, relax=True)) == []
    assert lacking(replace(old, filled_in=("horovod",))) == []
    assert lacking(Wanted(requirements=("horovod>=0.19",))) == []
    said = ("horovod==0.19.5 does not build with today's frameworks: horovod==0.28.1 was built instead.",)
    assert take_out(Wanted(requirements=("horovod==0.19.5",), relax=True))[2] == said
    assert take_out(Wanted(requirements=("horovod==0.19.5",), filled_in=("horovod",)))[2] == said


def test_the_edits(tmp_path: Path) -> None:
    files = {
        "CMakeLists.txt": "set(CMAKE_CXX_STANDARD 14)\n",
        "horovod/tensorflow/CMakeLists.txt": 'a.cc\n     "${PROJECT_SOURCE_DIR}/xla_mpi_ops.cc"\nb.cc\n',
        "horovod/_keras/__init__.py": "if x:\n    from keras import backend as K\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    patch(str(tmp_path))
    assert {name: (tmp_path / name).read_text() for name in files} == {
        "CMakeLists.txt": "set(CMAKE_CXX_STANDARD 17)\n",
        "horovod/tensorflow/CMakeLists.txt": "a.cc\nb.cc\n",
        "horovod/_keras/__init__.py": "if x:\n    from tf_keras import backend as K\n",
    }
    with pytest.raises(BuildFailed, match="is not what it was"):
        patch(str(tmp_path))


@pytest.mark.parametrize("gpu", [True, False])
def test_without_a_gpu_it_is_built_for_the_cpu_whatever_torch_is(tmp_path: Path, gpu: bool) -> None:
    find = "print(True if ((torch.version.cuda is not None) and (CUDA_HOME is not None)) else False)\n"
    (tmp_path / "cmake" / "Modules").mkdir(parents=True)
    (tmp_path / "cmake" / "Modules" / "FindPytorch.cmake").write_text(find)
    (tmp_path / "horovod" / "tensorflow").mkdir(parents=True)
    (tmp_path / "horovod" / "tensorflow" / "CMakeLists.txt").write_text("xla_mpi_ops.cc\n")
    patch(str(tmp_path), gpu)
    said = (tmp_path / "cmake" / "Modules" / "FindPytorch.cmake").read_text()
    assert said == (find if gpu else find.replace("torch.version.cuda is not None", "False"))


@pytest.mark.parametrize(
    ("torch", "standard"), [(None, "17"), ("2.13.0+cpu", "17"), ("2.14.0", "20"), ("2.15.0+cu132", "20")]
)
def test_a_newer_torch_wants_a_newer_standard(tmp_path: Path, torch: str | None, standard: str) -> None:
    files = {"tensorflow": "xla_mpi_ops.cc\nset(CMAKE_CXX_STANDARD 14)\n", "torch": "set(CMAKE_CXX_STANDARD 14)\n"}
    for name, text in files.items():
        (tmp_path / "horovod" / name).mkdir(parents=True)
        (tmp_path / "horovod" / name / "CMakeLists.txt").write_text(text)
    patch(str(tmp_path), frameworks={"torch": torch} if torch else {})
    said = {name: (tmp_path / "horovod" / name / "CMakeLists.txt").read_text() for name in files}
    assert said == {
        "tensorflow": "set(CMAKE_CXX_STANDARD 17)\n",
        "torch": f"set(CMAKE_CXX_STANDARD {standard})\n",
    }


def test_without_a_compiler_the_error_says_what_is_missing(tmp_path: Path) -> None:
    assert missing_tools({"PATH": str(tmp_path)}) == ["gcc", "g++", "make"]
    uv = Uv("/no/uv", PipOptions(), {"PATH": str(tmp_path)}, log=lambda _: None)
    with pytest.raises(EnvironmentRefused, match=r"gcc, g\+\+, make is missing. Install a C\+\+ compiler"):
        wheel(uv, str(tmp_path / "wheels"), "/env/bin/python", Lock("3.11.7", "linux-x86_64"), lambda _: None)


def test_a_wheel_that_was_built_is_taken(tmp_path: Path) -> None:
    uv = Uv("/no/uv", PipOptions(), {"PATH": str(tmp_path)}, log=lambda _: None)
    lock = Lock("3.11.7", "linux-x86_64", requirements="torch==2.13.0+cpu\ntensorflow-cpu==2.21.0")
    with pytest.raises(EnvironmentRefused):
        wheel(uv, str(tmp_path / "wheels"), "/env/bin/python", lock, lambda _: None)
    (folder,) = os.listdir(tmp_path / "wheels")
    made = tmp_path / "wheels" / folder / "horovod-0.28.1-cp311-cp311-linux_x86_64.whl"
    made.touch()
    patch_release = Lock("3.11.9", "linux-x86_64", requirements="tensorflow-cpu==2.21.0\ntorch==2.13.0+cpu")
    assert wheel(uv, str(tmp_path / "wheels"), "/env/bin/python", patch_release, lambda _: None) == str(made)


@pytest.mark.parametrize(("tensorflow", "module"), [("2.15.1", "keras"), ("2.16.1", "tf_keras"), (None, "tf_keras")])
def test_a_tensorflow_that_brings_keras_2_keeps_it(tmp_path: Path, tensorflow: str | None, module: str) -> None:
    files = {"tensorflow/CMakeLists.txt": "xla_mpi_ops.cc\n", "_keras/__init__.py": "from keras import backend\n"}
    for name, text in files.items():
        (tmp_path / "horovod" / name).parent.mkdir(parents=True)
        (tmp_path / "horovod" / name).write_text(text)
    frameworks = {"tensorflow-cpu": tensorflow} if tensorflow else {}
    patch(str(tmp_path), frameworks=frameworks)
    assert (tmp_path / "horovod" / "_keras" / "__init__.py").read_text() == f"from {module} import backend\n"
    lines = "".join(f"{name}=={version}\n" for name, version in frameworks.items())
    said = Made(Lock("3.11.7", "linux", built=(BUILT,), requirements=lines)).variables("/yard/env")
    assert ("TF_USE_LEGACY_KERAS" in said) == (module == "tf_keras")


def test_its_processes_get_keras_2_and_its_open_mpi() -> None:
    made = Made(Lock("3.11.7", "linux", built=(BUILT,)))
    assert made.variables("/yard/env") == {"TF_USE_LEGACY_KERAS": "1", "OPAL_PREFIX": "/yard/env"}
    assert Made(Lock("3.11.7", "linux")).variables("/yard/env") == {}


@pytest.mark.parametrize(
    ("variables", "there"),
    [
        ({"HOME": "/home/ada"}, "/home/ada/.cache/trainyard/wheels"),
        ({"HOME": "/home/ada", "XDG_CACHE_HOME": "/fast"}, "/fast/trainyard/wheels"),
    ],
)
def test_what_was_built_is_kept_for_all_homes_of_a_user(variables: dict[str, str], there: str) -> None:
    assert shelf(variables) == there
