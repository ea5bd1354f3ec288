"""A conda specification that a user builds up: channels, conda packages, pip packages and pip options."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from trainyard.sdk.environments.requirements_file import inlined
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.plain_yaml import Comments, YamlError, dumps, loads
from trainyard.sdk.version import SDK_VERSION

CPU = "cpu"
GPU = "gpu"
PYTHON_DEFAULT_VERSION = "3.6.2"
CONDA_FILE_NAME = "conda_dependencies.yml"
TENSORFLOW_DEFAULT_VERSION = "1.13.1"
CNTK_DEFAULT_VERSION = "2.7"

_DEFAULT_PIP = "azureml-defaults"
_TEMPLATE = f"""\
# What a run needs: this environment is built for it unless userManagedDependencies is set.
# The format is that of conda's environment files.
name: project_environment
dependencies:
# The Python version. The default is a wish: a newer Python takes its place where that one is not to be had.
- python={PYTHON_DEFAULT_VERSION}
- pip:
  - {_DEFAULT_PIP}
channels:
- anaconda
- conda-forge
"""
_ALLOWED_KEYS = frozenset({"name", "channels", "dependencies", "prefix", "variables"})
_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")
_REPEATABLE = ("--extra-index-url", "--find-links", "-f", "--trusted-host", "--constraint", "-c", "--requirement", "-r")
_NAME = re.compile(r"\s*([A-Za-z0-9._-]+)")
# The SDK's own packages that have a version numbering of their own.
_NOT_PINNED = ("azureml-dataprep",)


class CondaDependencies:
    DEFAULT_NUMBER_OF_CONDA_PACKAGES = 0
    DEFAULT_NUMBER_OF_PIP_PACKAGES = 0

    def __init__(
        self, conda_dependencies_file_path: Any = None, _underlying_structure: dict[str, Any] | None = None
    ) -> None:
        """From a file (its path, or an open one), else the SDK's default specification."""
        self._comments = Comments()
        if conda_dependencies_file_path:
            text, where = _text(conda_dependencies_file_path)
            self._spec = _parsed(text, where)
            self._comments = Comments.of(text)
            if (
                whole := inlined(self._pip(), os.path.abspath(where))
            ) != self._pip():  # conda's `- -r requirements.txt`
                self._set_pip(whole)
        elif _underlying_structure is not None:
            self._spec = _checked(copy.deepcopy(_underlying_structure), "the conda specification")
        else:
            self._spec = _parsed(_TEMPLATE, "the template")
            self._comments = Comments.of(_TEMPLATE)

    @staticmethod
    def create(
        pip_indexurl: str | None = None,
        pip_packages: list[str] | None = None,
        conda_packages: list[str] | None = None,
        python_version: str | None = PYTHON_DEFAULT_VERSION,
        pin_sdk_version: bool = True,
    ) -> CondaDependencies:
        """A given `pip_packages` replaces the default azureml-defaults."""
        made = CondaDependencies()
        made._set_pip([])
        made.set_python_version(python_version or PYTHON_DEFAULT_VERSION)
        for package in _listed(conda_packages or [], "conda_packages"):
            made.add_conda_package(package)
        for package in [_DEFAULT_PIP] if pip_packages is None else _listed(pip_packages, "pip_packages"):
            made.add_pip_package(_pinned(package) if pin_sdk_version else package)
        if pip_indexurl:
            made.set_pip_index_url(pip_indexurl)
        return made

    @staticmethod
    def merge_requirements(requirements: Iterable[str]) -> list[str]:
        """One entry per package, with all the versions asked for it."""
        merged: dict[str, list[str]] = {}
        for requirement in requirements:
            name = package_name(requirement)
            versions = merged.setdefault(name, [])
            rest = requirement.strip()[len(name) :].strip()
            versions.extend(part for part in rest.split(",") if part and part not in versions)
        return [name + ",".join(versions) for name, versions in merged.items()]

    @staticmethod
    def sdk_origin_url() -> str:
        """Where the SDK's own packages come from: nowhere, a job finds them on its path."""
        return ""

    @property
    def conda_channels(self) -> Iterator[str]:
        return iter(list(self._spec.get("channels") or []))

    @property
    def conda_packages(self) -> Iterator[str]:
        return iter([item for item in self._dependencies() if isinstance(item, str)])

    @property
    def pip_packages(self) -> Iterator[str]:
        return iter([item for item in self._pip() if not _is_option(item)])

    @property
    def pip_options(self) -> Iterator[str]:
        return iter([item for item in self._pip() if _is_option(item)])

    def get_default_number_of_packages(self) -> int:
        return self.DEFAULT_NUMBER_OF_CONDA_PACKAGES + self.DEFAULT_NUMBER_OF_PIP_PACKAGES

    def add_channel(self, channel: str) -> None:
        channels = self._spec.setdefault("channels", [])
        if channel not in channels:
            channels.append(channel)

    def remove_channel(self, channel: str) -> None:
        if channel in (self._spec.get("channels") or []):
            self._spec["channels"].remove(channel)

    def add_conda_package(self, conda_package: str) -> None:
        """Adds it unless the very same entry is there."""
        _check_text(conda_package, "conda_package")
        if conda_package not in self._dependencies():
            packages = self._dependencies()
            packages.insert(len([item for item in packages if isinstance(item, str)]), conda_package)

    def remove_conda_package(self, conda_package: str) -> None:
        """Removes every entry of that package, whatever version it has."""
        _check_text(conda_package, "conda_package")
        name = package_name(conda_package)
        self._spec["dependencies"] = [
            item for item in self._dependencies() if not (isinstance(item, str) and package_name(item) == name)
        ]

    def add_pip_package(self, pip_package: str) -> None:
        """Adds it in place of an entry of the same package."""
        _check_text(pip_package, "pip_package")
        if _is_option(pip_package):
            raise UserErrorException(f"{pip_package!r} is a pip option, not a package. Use set_pip_option for it.")
        name = package_name(pip_package)
        entries = [item for item in self._pip() if _is_option(item) or package_name(item) != name]
        self._set_pip([*entries, pip_package])

    def remove_pip_package(self, pip_package: str) -> None:
        _check_text(pip_package, "pip_package")
        name = package_name(pip_package)
        self._set_pip([item for item in self._pip() if _is_option(item) or package_name(item) != name])

    def set_pip_requirements(self, pip_requirements: Iterable[str]) -> None:
        """Replaces the whole pip part."""
        self._set_pip([str(item) for item in pip_requirements])

    def set_pip_index_url(self, index_url: str) -> None:
        self.set_pip_option(f"--index-url {index_url}")

    def set_pip_option(self, pip_option: str) -> None:
        """Adds an option; one that can be there once takes the place of its older self."""
        _check_text(pip_option, "pip_option")
        if not _is_option(pip_option):
            raise UserErrorException(f"{pip_option!r} is not a pip option: those start with '-'.")
        name = _option_name(pip_option)
        same = {pip_option} if name in _REPEATABLE else {item for item in self._pip() if _option_name(item) == name}
        others = [item for item in self._pip() if item not in same]
        self._set_pip([pip_option, *others])

    def remove_pip_option(self, pip_option: str) -> None:
        _check_text(pip_option, "pip_option")
        name = _option_name(pip_option)
        self._set_pip([item for item in self._pip() if not (_is_option(item) and _option_name(item) == name)])

    def get_python_version(self) -> str | None:
        for package in self.conda_packages:
            if package_name(package) == "python":
                return package[len("python") :].lstrip("=<>~! ") or None
        return None

    def set_python_version(self, version: str) -> None:
        _check_text(str(version or ""), "The version of Python", "3.11")
        self.remove_conda_package("python")
        self._dependencies().insert(0, f"python={version}")

    def add_tensorflow_conda_package(self, core_type: str = CPU, version: str | None = None) -> None:
        self.add_conda_package(f"{_by_core('tensorflow', core_type)}={version or TENSORFLOW_DEFAULT_VERSION}")

    def add_tensorflow_pip_package(self, core_type: str = CPU, version: str | None = None) -> None:
        self.add_pip_package(f"{_by_core('tensorflow', core_type)}=={version or TENSORFLOW_DEFAULT_VERSION}")

    def add_cntk_package(self, core_type: str = CPU) -> None:
        self.add_pip_package(f"{_by_core('cntk', core_type)}=={CNTK_DEFAULT_VERSION}")

    def as_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self._spec)

    def serialize_to_string(self) -> str:
        return self._comments.put_into(dumps(self._spec))

    def save(self, path: str | None = None) -> str:
        """Writes the specification to a file, or as conda_dependencies.yml into a folder. Answers the file's path."""
        path = os.path.abspath(path or os.curdir)
        return self._write(os.path.join(path, CONDA_FILE_NAME) if os.path.isdir(path) else path)

    def save_to_file(self, base_directory: str, conda_file_path: str | None = None) -> str:
        """Writes the specification below `base_directory`. Answers the path below it."""
        below = conda_file_path or os.path.join("aml_config", CONDA_FILE_NAME)
        self._write(os.path.join(os.path.abspath(base_directory), below))
        return os.path.normpath(below)

    def _write(self, path: str) -> str:
        if self.get_python_version() is None:
            raise UserErrorException("The conda specification names no Python. Call set_python_version('3.11') first.")
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.serialize_to_string())
        return path

    def _dependencies(self) -> list[Any]:
        found = self._spec.get("dependencies")
        if found is None:
            found = self._spec["dependencies"] = []
        assert isinstance(found, list)
        return found

    def _pip(self) -> list[str]:
        for item in self._dependencies():
            if isinstance(item, dict):
                return list(item.get("pip") or [])
        return []

    def _set_pip(self, entries: list[str]) -> None:
        others = [item for item in self._dependencies() if not isinstance(item, dict)]
        self._spec["dependencies"] = [*others, {"pip": entries}] if entries else others


def _text(source: Any) -> tuple[str, str]:
    """The text of a file, and what to call the file in an error."""
    try:
        if hasattr(source, "read"):
            read = source.read()
            return read.decode("utf-8-sig") if isinstance(read, bytes) else str(read), getattr(source, "name", "stream")
        path = os.fspath(source)
        with open(path, encoding="utf-8-sig") as file:
            return file.read(), path
    except OSError as error:
        raise UserErrorException(
            f"Cannot read the conda file {source}: {error.strerror}. Check the path.", error
        ) from error
    except UnicodeDecodeError as error:
        raise UserErrorException(f"The conda file {source} is not text in UTF-8. Save it as such.", error) from error


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        return _checked(loads(text), where)
    except YamlError as error:
        raise UserErrorException(f"{where}, {error}. Correct the conda file.", error) from error


def _checked(spec: Any, where: str) -> dict[str, Any]:
    if not isinstance(spec, dict):
        raise UserErrorException(f"{where} is not a conda specification: it must have `dependencies:` at its top.")
    if unknown := sorted(set(map(str, spec)) - _ALLOWED_KEYS):
        raise UserErrorException(
            f"{where} has the key(s) {', '.join(unknown)}. A conda specification knows "
            f"{', '.join(sorted(_ALLOWED_KEYS))}: remove the others."
        )
    dependencies = spec.get("dependencies") or []
    if not isinstance(dependencies, list) or not all(isinstance(item, str) or _is_pip(item) for item in dependencies):
        raise UserErrorException(
            f"{where}: dependencies must be a list of packages and at most one `pip:` list. Correct the conda file."
        )
    if not isinstance(spec.get("variables") or {}, dict):
        raise UserErrorException(f"{where}: variables must be names with values. Correct the conda file.")
    if sum(map(_is_pip, dependencies)) > 1:
        raise UserErrorException(f"{where} has more than one `pip:` list. Put their packages into one.")
    return spec


def _is_pip(item: Any) -> bool:
    if not isinstance(item, dict) or set(item) != {"pip"}:
        return False
    packages = item["pip"]
    return packages is None or (isinstance(packages, list) and all(isinstance(it, str) for it in packages))


def _pinned(package: str) -> str:
    name = package_name(package)
    bare = re.fullmatch(r"[A-Za-z0-9._-]+(\[[^]]*\])?", package.strip())
    if bare and name.startswith("azureml-") and not name.startswith(_NOT_PINNED):
        return f"{package.strip()}~={SDK_VERSION}"
    return package


def package_name(requirement: str) -> str:
    name = requirement.rpartition("::")[2]  # channel::package
    if _ADDRESS.match(name):  # a bare address: its package has no name before it is fetched
        return name.strip()
    found = _NAME.match(name)
    return found[1].lower() if found else name.strip()


def _is_option(item: str) -> bool:
    return item.lstrip().startswith("-")


def _option_name(option: str) -> str:
    return re.split(r"[\s=]", option.strip(), maxsplit=1)[0]


def _by_core(package: str, core_type: str) -> str:
    if core_type not in (CPU, GPU):
        raise UserErrorException(f"core_type is {core_type!r}; it must be 'cpu' or 'gpu'.")
    return package if core_type == CPU else f"{package}-gpu"


def _listed(packages: Iterable[str], name: str) -> Iterable[str]:
    if isinstance(packages, str):  # one by one its letters would be packages too
        raise UserErrorException(f"{name} must be a list of names such as ['numpy'], not {packages!r}.")
    return packages


def _check_text(value: object, name: str, such_as: str = "numpy==1.26.4") -> None:
    if not isinstance(value, str) or not value.strip():
        raise UserErrorException(f"{name} must be a text such as {such_as!r}, not {value!r}.")
