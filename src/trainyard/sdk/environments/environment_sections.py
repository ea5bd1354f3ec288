"""The parts of an environment: Python, Docker, Spark and what else the SDK names."""

from __future__ import annotations

import os
from typing import Any

from trainyard.contract.environments import SHIMS, SHIMS_AUTO, SHIMS_OFF
from trainyard.sdk.effects import tell_once
from trainyard.sdk.environments.conda_dependencies import CondaDependencies, package_name
from trainyard.sdk.environments.container_registry import ContainerRegistry
from trainyard.sdk.errors import UserErrorException

DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/intelmpi2018.3-ubuntu16.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/intelmpi2018.3-cuda10.0-cudnn7-ubuntu16.04"
MPI_CPU_IMAGE = DEFAULT_CPU_IMAGE
MPI_GPU_IMAGE = DEFAULT_GPU_IMAGE
DEFAULT_SHM_SIZE = "2g"
DEFAULT_INTERPRETER = "python"


class PythonSection:
    def __init__(self, **kwargs: Any) -> None:
        self.interpreter_path = DEFAULT_INTERPRETER
        self.user_managed_dependencies = False
        self._conda_dependencies: CondaDependencies | None = CondaDependencies()
        self.base_conda_environment: str | None = None
        self.relax_pins = False  # versions that cannot be had give way to the nearest that can
        self._shims: str | None = None
        # requirements that we filled in: their versions are wishes, not the user's pins
        self._filled_in: tuple[str, ...] = ()
        self._lock: str | None = None
        self._locked: dict[str, Any] | None = None
        self._conda_dependencies_file: str | None = None
        _set_known(self, kwargs)

    @property
    def conda_dependencies(self) -> CondaDependencies | None:
        return self._conda_dependencies

    @conda_dependencies.setter
    def conda_dependencies(self, packages: CondaDependencies | None) -> None:
        if packages is not None and not isinstance(packages, CondaDependencies):
            raise UserErrorException(
                f"python.conda_dependencies is a CondaDependencies, not {packages!r}. Of a file: "
                "CondaDependencies('environment.yml')."
            )
        self._conda_dependencies = packages

    @property
    def lock(self) -> str | None:
        """The digest of exact versions to install, as a run had them; it goes when the packages are changed."""
        return self._lock if self._locked == self._packages() else None

    @lock.setter
    def lock(self, digest: str | None) -> None:
        self._lock, self._locked = digest, self._packages()

    @property
    def shims(self) -> str | None:
        """Which helpers for old scripts are switched on: 'auto', 'off', or some by name. None: as the run's settings
        say (TRAINYARD_RELAX_PINS), or by themselves where a framework's version cannot be had any more."""
        return self._shims

    @shims.setter
    def shims(self, wanted: Any) -> None:
        self._shims = _shims_said(wanted)

    @property
    def conda_dependencies_file(self) -> str | None:
        return self._conda_dependencies_file

    @conda_dependencies_file.setter
    def conda_dependencies_file(self, path: str | None) -> None:
        self._conda_dependencies_file = path
        if path:
            self.conda_dependencies = CondaDependencies(path)

    def to_definition(self) -> dict[str, Any]:
        conda = self.conda_dependencies
        said: dict[str, Any] = {
            "interpreterPath": self.interpreter_path,
            "userManagedDependencies": self.user_managed_dependencies,
            "condaDependencies": conda.as_dict() if conda is not None else None,
            "baseCondaEnvironment": self.base_conda_environment,
        }
        # what the SDK does not know is written only where it says something
        ours = {
            "relaxPins": bool(self.relax_pins),
            "frameworkDefaults": self._still_filled_in(),
            "shims": self.shims,
            "lock": self.lock,
        }
        return said | {key: value for key, value in ours.items() if value}

    @staticmethod
    def from_definition(said: dict[str, Any]) -> PythonSection:
        made = PythonSection()
        made.interpreter_path = said.get("interpreterPath") or DEFAULT_INTERPRETER
        made.user_managed_dependencies = bool(said.get("userManagedDependencies", False))
        made.base_conda_environment = said.get("baseCondaEnvironment")
        made.relax_pins = bool(said.get("relaxPins", False))
        made.shims = said.get("shims")
        if "condaDependencies" in said:
            conda = said["condaDependencies"]
            made.conda_dependencies = CondaDependencies(_underlying_structure=conda) if conda is not None else None
        elif file := said.get("condaDependenciesFile"):
            made.conda_dependencies_file = file
        names = said.get("frameworkDefaults") or ()
        made._filled_in = tuple(line for line in made._requirements() if package_name(line) in names)
        made.lock = said.get("lock")
        return made

    def _still_filled_in(self) -> list[str]:
        """The names of those that are as we wrote them: a user may have taken one out or pinned another since."""
        there = self._requirements()
        return [package_name(line) for line in self._filled_in if line in there]

    def _packages(self) -> dict[str, Any] | None:
        return None if self.conda_dependencies is None else self.conda_dependencies.as_dict()

    def _requirements(self) -> list[str]:
        return [] if self.conda_dependencies is None else list(self.conda_dependencies.pip_packages)


def _shims_said(wanted: Any) -> str | None:
    if wanted is None:
        return None
    if isinstance(wanted, bool):
        return SHIMS_AUTO if wanted else SHIMS_OFF
    given = wanted.split(",") if isinstance(wanted, str) else wanted if isinstance(wanted, list | tuple) else [wanted]
    names = [str(name).strip().lower() for name in given]
    if names in ([SHIMS_AUTO], [SHIMS_OFF]):
        return names[0]
    if not names or set(names) - {*SHIMS}:
        raise UserErrorException(
            f"python.shims is {wanted!r}. Give 'auto' for all that a script needs, 'off' for none, or some of "
            f"{', '.join(SHIMS)}."
        )
    return ",".join(names)


class DockerSection:
    """`base_image`, `base_dockerfile` and `build_context` exclude one another: setting one clears the others."""

    def __init__(self, **kwargs: Any) -> None:
        self.enabled = False
        self.shared_volumes = True
        self.shm_size: str | None = None
        self.arguments: list[str] = []
        self.platform: dict[str, str] = {"os": "Linux", "architecture": "amd64"}
        self._base_image_registry = ContainerRegistry()
        self._base_image: str | None = DEFAULT_CPU_IMAGE
        self._base_dockerfile: str | None = None
        self._build_context: DockerBuildContext | None = None
        self._gpu_support: bool | None = None
        _set_known(self, kwargs)

    @property
    def base_image_registry(self) -> ContainerRegistry:
        return self._base_image_registry

    @base_image_registry.setter
    def base_image_registry(self, registry: ContainerRegistry | str | None) -> None:
        """A registry, or its address alone."""
        if isinstance(registry, ContainerRegistry):
            self._base_image_registry = registry
            return
        self._base_image_registry = ContainerRegistry()
        self._base_image_registry.address = registry

    @property
    def base_image(self) -> str | None:
        return self._base_image

    @base_image.setter
    def base_image(self, image: str | None) -> None:
        if image:
            self._only("base_image")
        self._base_image = image

    @property
    def base_dockerfile(self) -> str | None:
        return self._base_dockerfile

    @base_dockerfile.setter
    def base_dockerfile(self, dockerfile: Any) -> None:
        """Text, the path of a file, or an open file."""
        text = text_of(dockerfile)
        if text:
            self._only("base_dockerfile")
        self._base_dockerfile = text

    @property
    def build_context(self) -> DockerBuildContext | None:
        return self._build_context

    @build_context.setter
    def build_context(self, context: DockerBuildContext | None) -> None:
        if context is not None:
            self._only("build_context")
        self._build_context = context

    def _only(self, chosen: str) -> None:
        for other in ("base_image", "base_dockerfile", "build_context"):
            value = getattr(self, f"_{other}")
            if other != chosen and value:
                if value != DEFAULT_CPU_IMAGE:
                    tell_once(f"DockerSection: {other} was set and is cleared, because {chosen} is set now.")
                setattr(self, f"_{other}", None)

    @property
    def gpu_support(self) -> bool | None:
        return self._gpu_support

    @gpu_support.setter
    def gpu_support(self, value: bool | None) -> None:
        tell_once("DockerSection: gpu_support has no effect; GPUs are found by themselves.")
        self._gpu_support = value

    def to_definition(self) -> dict[str, Any]:
        registry = self.base_image_registry
        context = {} if self.build_context is None else {"buildContext": self.build_context.to_definition()}
        # what the SDK's older releases did not write is written only where it says something
        memory = {} if self.shm_size is None else {"shmSize": self.shm_size}
        volumes = {} if self.shared_volumes else {"sharedVolumes": False}
        return {
            "baseImage": self.base_image,
            "platform": dict(self.platform),
            "baseDockerfile": self.base_dockerfile,
            # the password stays here: a definition is shown to whoever may read the run
            "baseImageRegistry": {"address": registry.address, "username": registry.username, "password": None},
            "enabled": self.enabled,
            "arguments": list(self.arguments),
            **memory,
            **volumes,
            **context,
        }

    @staticmethod
    def from_definition(said: dict[str, Any]) -> DockerSection:
        made = DockerSection()
        made.shm_size = said.get("shmSize")
        made.shared_volumes = bool(said.get("sharedVolumes", True))
        if context := said.get("buildContext"):
            made._build_context = DockerBuildContext.from_definition(context)
        made.enabled = bool(said.get("enabled", False))
        made.arguments = list(said.get("arguments") or [])
        made.platform = dict(said.get("platform") or made.platform)
        made._base_image = said.get("baseImage", DEFAULT_CPU_IMAGE)
        made._base_dockerfile = said.get("baseDockerfile")
        registry = said.get("baseImageRegistry") or {}
        made.base_image_registry.address = registry.get("address")
        made.base_image_registry.username = registry.get("username")
        return made


class DockerBuildContext:
    """A folder with a Dockerfile that an image is made from."""

    def __init__(self, location_type: str, location: str, dockerfile_path: str = "Dockerfile") -> None:
        self.location_type, self.location, self.dockerfile_path = location_type, location, dockerfile_path

    @staticmethod
    def from_local_directory(workspace: Any, path: str, dockerfile_path: str = "Dockerfile") -> DockerBuildContext:
        del workspace
        where = os.path.abspath(path)
        if not os.path.isfile(os.path.join(where, dockerfile_path)):
            raise UserErrorException(
                f"There is no {dockerfile_path} in {where}. Give the folder, and the Dockerfile's path below it."
            )
        return DockerBuildContext("local", where, dockerfile_path)

    def to_definition(self) -> dict[str, Any]:
        return {
            "locationType": self.location_type,
            "location": self.location,
            "dockerfilePath": self.dockerfile_path,
        }

    @staticmethod
    def from_definition(said: dict[str, Any]) -> DockerBuildContext:
        return DockerBuildContext(said["locationType"], said["location"], said.get("dockerfilePath") or "Dockerfile")


class SparkPackage:
    def __init__(self, group: str | None = None, artifact: str | None = None, version: str | None = None) -> None:
        self.group, self.artifact, self.version = group, artifact, version


class SparkSection:
    def __init__(self, **kwargs: Any) -> None:
        self.repositories: list[str] = []
        self.packages: list[SparkPackage] = []
        self.precache_packages = True
        _set_known(self, kwargs)

    def to_definition(self) -> dict[str, Any]:
        packages = [{"group": it.group, "artifact": it.artifact, "version": it.version} for it in self.packages]
        return {
            "repositories": list(self.repositories),
            "packages": packages,
            "precachePackages": self.precache_packages,
        }

    @staticmethod
    def from_definition(said: dict[str, Any]) -> SparkSection:
        made = SparkSection()
        made.repositories = list(said.get("repositories") or [])
        made.packages = [SparkPackage(**package) for package in said.get("packages") or []]
        made.precache_packages = bool(said.get("precachePackages", True))
        return made


class DatabricksSection:
    def __init__(self, **kwargs: Any) -> None:
        self.maven_libraries: list[Any] = []
        self.pypi_libraries: list[Any] = []
        self.rcran_libraries: list[Any] = []
        self.jar_libraries: list[Any] = []
        self.egg_libraries: list[Any] = []
        _set_known(self, kwargs)

    def to_definition(self) -> dict[str, Any]:
        return {_camel(name): list(map(_plain, items)) for name, items in vars(self).items() if items}

    @staticmethod
    def from_definition(said: dict[str, Any]) -> DatabricksSection:
        return DatabricksSection(**{_snake(key): list(items) for key, items in said.items()})


class RSection:
    def __init__(self, **kwargs: Any) -> None:
        self.r_version: str | None = None
        self.user_managed = False
        self.rscript_path: str | None = None
        self.snapshot_date: str | None = None
        self.cran_packages: list[Any] | None = None
        self.github_packages: list[Any] | None = None
        self.custom_url_packages: list[Any] | None = None
        self.bioconductor_packages: list[Any] | None = None
        _set_known(self, kwargs)

    def to_definition(self) -> dict[str, Any]:
        return {_camel(name): _plain(value) for name, value in vars(self).items()}

    @staticmethod
    def from_definition(said: dict[str, Any]) -> RSection:
        return RSection(**{_snake(key): value for key, value in said.items()})


def text_of(source: Any) -> str | None:
    """The text given, read from the file that it names or is."""
    if source is None:
        return None
    if hasattr(source, "read"):
        read = source.read()
        return read.decode("utf-8") if isinstance(read, bytes) else str(read)
    text = str(source)
    if "\n" not in text and os.path.isfile(text):
        with open(text, encoding="utf-8") as file:
            return file.read()
    if text.strip() and len(text.split()) == 1:  # no instruction: those have an argument
        raise UserErrorException(f"{text!r} is no Dockerfile: no file is there, and it is no text of one either.")
    return text


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def _plain(value: Any) -> Any:
    """As JSON has it: the packages and libraries of these parts are plain attributes in the SDK."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {_camel(name): item for name, item in vars(value).items()} if hasattr(value, "__dict__") else value


def _set_known(section: Any, given: dict[str, Any]) -> None:
    for name, value in given.items():
        if not name.startswith("_"):
            if not hasattr(section, name):
                raise TypeError(f"{type(section).__name__}() has no parameter {name!r}")
            setattr(section, name, value)
