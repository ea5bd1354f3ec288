"""The frameworks that estimators bring along: which versions one may ask for, and what each asks the builder for.

All of these versions are older than the Pythons of today. They are wishes, not pins: the builder takes the nearest that
can be had and the run says which one that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trainyard.sdk.environments.conda_dependencies import package_name
from trainyard.sdk.errors import TrainingException


@dataclass(frozen=True)
class Framework:
    name: str
    default: str
    packages: Mapping[str, tuple[str, ...]]  # version → requirements
    horovod: Mapping[str, str] = field(default_factory=dict)  # version → the Horovod that goes with it under MPI
    on_gpu: Mapping[str, str] = field(default_factory=dict)  # a package → what it is called in its GPU build
    for_mpi: tuple[str, ...] = ()  # what its own way to train under MPI needs

    def check(self, version: str | None) -> str:
        version = self.default if version is None else str(version)
        if version not in self.packages:
            raise TrainingException(
                f"framework_version {version!r} is not one that {self.name} has here. Use one of "
                f"{', '.join(self.packages)}."
            )
        return version

    def requirements(self, version: str, *, gpu: bool, mpi: bool, beside: Iterable[str]) -> list[str]:
        """What to install for a version, without what the user's own packages (`beside`) bring already."""
        there = {_FAMILIES.get(package_name(line), package_name(line)) for line in beside}
        wanted = [*self.packages[version]]
        if mpi:
            wanted += [f"horovod=={self.horovod[version]}"] if version in self.horovod else self.for_mpi
        left = [line for line in wanted if _FAMILIES.get(package_name(line), package_name(line)) not in there]
        return [self._built_for(line, gpu) for line in left]

    def _built_for(self, line: str, gpu: bool) -> str:
        name = package_name(line)
        return self.on_gpu[name] + line[len(name) :] if gpu and name in self.on_gpu else line


# Packages that are one and the same under several names: a user who brings one of them has brought the framework.
_FAMILIES = {
    "tensorflow-cpu": "tensorflow",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-mkl": "tensorflow",
    "tf-nightly": "tensorflow",
    "pytorch": "torch",
    "pytorch-cpu": "torch",
    "pytorch-gpu": "torch",
}

TENSORFLOW = Framework(
    "TensorFlow",
    "1.13",
    {
        "1.10": ("tensorflow-cpu==1.10.0",),
        "1.12": ("tensorflow-cpu==1.12.0",),
        "1.13": ("tensorflow-cpu==1.13.1",),
        "2.0": ("tensorflow-cpu==2.0.0",),
        "2.1": ("tensorflow-cpu==2.1.0",),
        "2.2": ("tensorflow-cpu==2.2.0",),
        "2.3": ("tensorflow-cpu==2.3.0",),
    },
    {
        "1.10": "0.15.2",
        "1.12": "0.15.2",
        "1.13": "0.16.1",
        "2.0": "0.18.1",
        "2.1": "0.19.1",
        "2.2": "0.19.5",
        "2.3": "0.19.5",
    },
    # the builder takes today's build for GPUs where there is one, and the CPU's where there is none
    {"tensorflow-cpu": "tensorflow-gpu"},
)
# torchvision is the one that fits the torch that is taken
PYTORCH = Framework(
    "PyTorch",
    "1.4",
    {
        "1.0": ("torch==1.0.0", "torchvision"),
        "1.1": ("torch==1.1.0", "torchvision"),
        "1.2": ("torch==1.2.0", "torchvision"),
        "1.3": ("torch==1.3.0", "torchvision"),
        "1.4": ("torch==1.4.0", "torchvision"),
        "1.5": ("torch==1.5.0", "torchvision"),
        "1.6": ("torch==1.6.0", "torchvision"),
    },
    {
        "1.0": "0.16.1",
        "1.1": "0.16.1",
        "1.2": "0.16.1",
        "1.3": "0.18.1",
        "1.4": "0.18.1",
        "1.5": "0.19.1",
        "1.6": "0.19.5",
    },
)
CHAINER = Framework(
    "Chainer", "5.1.0", {"5.1.0": ("chainer==5.1.0",), "7.0.0": ("chainer==7.0.0",)}, for_mpi=("mpi4py",)
)
# scipy and joblib come with scikit-learn, in the versions that fit the one that is taken
SKLEARN = Framework("SKLearn", "0.20.3", {"0.20.3": ("scikit-learn==0.20.3",)})
