"""InferenceConfig: the scoring script of a service, what comes with it and what it runs in."""

from __future__ import annotations

import ast
import os
import sys
from typing import TYPE_CHECKING, Any

from trainyard.contract.endpoints import CodeSpec
from trainyard.contract.runs import EnvironmentSpec
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import AzureMLException, UserErrorException, WebserviceException, sdk_errors

if TYPE_CHECKING:
    from trainyard.sdk.environments.environment import Environment
    from trainyard.sdk.workspace import Workspace

RUNTIMES = ("python", "spark-py", "python-slim", "spark-py-slim")
_SCHEMA = "inference_schema"  # what azureml-defaults brought: scripts that import it get it


class InferenceConfig:
    def __init__(
        self,
        entry_script: str,
        runtime: str | None = None,
        conda_file: str | None = None,
        extra_docker_file_steps: str | None = None,
        source_directory: str | None = None,
        enable_gpu: bool | None = None,
        description: str | None = None,
        base_image: str | None = None,
        base_image_registry: Any = None,
        cuda_version: str | None = None,
        environment: Environment | None = None,
    ) -> None:
        """`entry_script` is relative to `source_directory`, which travels whole; without one it is a single file. Give
        an `environment`, or in the form of 2018 a `runtime` and a `conda_file`."""
        self.entry_script = entry_script
        self.runtime = runtime
        self.conda_file = conda_file
        self.extra_docker_file_steps = extra_docker_file_steps
        self.source_directory = source_directory
        self.enable_gpu = enable_gpu
        self.description = description
        self.base_image = base_image
        self.base_image_registry = base_image_registry
        self.cuda_version = cuda_version
        self.environment = environment
        self.validate_configuration()

    def validate_configuration(self) -> None:
        """WebserviceException says what is wrong."""
        self._check_forms()
        if self.runtime is not None and self.runtime.lower() not in RUNTIMES:
            raise WebserviceException(f"{self.runtime!r} is no runtime. Use one of {', '.join(RUNTIMES)}.")
        if self.runtime is not None and self.runtime.lower().startswith("spark"):
            raise WebserviceException("Trainyard serves Python, not Spark. Use runtime='python' or an environment.")
        if self.source_directory is not None and not os.path.isdir(self.source_directory):
            raise WebserviceException(
                f"The source_directory {self.source_directory} is not a folder here. Give the one with your script."
            )
        if self.conda_file is not None and not os.path.isfile(self._beside(self.conda_file)):
            raise WebserviceException(f"There is no conda_file {self._beside(self.conda_file)}. Check the path.")
        check_script(self._script())
        no_effect(
            "InferenceConfig",
            extra_docker_file_steps=self.extra_docker_file_steps,
            base_image=self.base_image,
            base_image_registry=self.base_image_registry,
            cuda_version=self.cuda_version,
            enable_gpu=self.enable_gpu or None,
        )

    def validation_script_content(self) -> None:
        """UserErrorException if the script lacks init() or run()."""
        try:
            check_script(self._script())
        except WebserviceException as error:
            raise UserErrorException(error.message, error) from error

    def build_create_payload(self, workspace: Workspace, name: str, model_ids: list[str]) -> dict[str, Any]:
        """What a deployment of it is made of, as JSON."""
        from trainyard.contract.codec import to_json

        return {"name": name, "models": list(model_ids), "code": to_json(self._code(workspace))}

    def build_profile_payload(
        self,
        profile_name: str,
        input_data: Any = None,
        workspace: Workspace | None = None,
        models: Any = None,
        dataset_id: str | None = None,
        container_resource_requirements: Any = None,
        description: str | None = None,
    ) -> dict[str, Any]:
        if workspace is None:
            raise WebserviceException("build_profile_payload needs a workspace.")
        return {
            **self.build_create_payload(workspace, profile_name, [model.id for model in models or ()]),
            "input": input_data,
            "dataset": dataset_id,
            "resources": getattr(container_resource_requirements, "serialize", lambda: None)(),
            "description": description,
        }

    def _check_forms(self) -> None:
        if not isinstance(self.entry_script, str) or not self.entry_script:
            raise WebserviceException("InferenceConfig needs an entry_script such as 'score.py'.")
        old = {"runtime": self.runtime, "conda_file": self.conda_file, "base_image": self.base_image}
        given = [name for name, value in old.items() if value]
        if self.environment is not None and given:
            raise WebserviceException(
                f"environment says what the script runs in, so {', '.join(given)} cannot be given with it. Give one."
            )

    def _beside(self, path: str) -> str:
        return os.path.join(self.source_directory, path) if self.source_directory else path

    def _script(self) -> str:
        return self._beside(self.entry_script)

    def _environment(self) -> Environment:
        from trainyard.sdk.environments.environment import Environment

        if self.environment is not None:
            return self.environment
        if self.conda_file is None:
            return Environment("scoring")
        return Environment.from_conda_specification("scoring", self._beside(self.conda_file))

    def _code(self, workspace: Workspace) -> CodeSpec:
        self.validate_configuration()
        if self.source_directory:
            content, prefix = _folder(workspace, self.source_directory)
            entry = f"{prefix}/{os.path.normpath(self.entry_script).replace(os.sep, '/')}"
            source = os.path.abspath(self.source_directory)
        else:
            content, entry = files(workspace, [self.entry_script]), os.path.basename(self.entry_script)
            source = os.path.abspath(self.entry_script)
        return CodeSpec(content, entry, environment_spec(self._environment(), source), relax_pins(), source)

    def __repr__(self) -> str:
        return f"InferenceConfig(entry_script={self.entry_script}, source_directory={self.source_directory})"


def check_script(path: str) -> None:
    """That it is a Python file with init() and run() in it, without running it."""
    name = os.path.basename(path)
    if not name.endswith(".py"):
        raise WebserviceException(f"The entry script {path} must be a Python file: its name ends with .py.")
    if not name[:-3].isidentifier():
        raise WebserviceException(
            f"{name} cannot be imported by that name: use letters, digits and '_' only, not beginning with a digit."
        )
    if not os.path.isfile(path):
        raise WebserviceException(
            f"There is no entry script {os.path.abspath(path)}. Give its path relative to source_directory."
        )
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(), path)
    except (SyntaxError, ValueError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise WebserviceException(f"{path}{where} is not valid Python: {error}. Correct it.", error) from error
    lacking = {"init", "run"} - _defined(tree)
    if lacking:
        functions = " and ".join(f"{name}()" for name in sorted(lacking))
        raise WebserviceException(
            f"{path} does not define {functions}. A scoring script has init(), called once, and run(data), called for "
            "each request."
        )


def environment_spec(environment: Environment, source: str) -> EnvironmentSpec:
    """As services are built: with inference-schema where the code imports it, without a container."""
    from trainyard.sdk.environments.environment import Environment

    if not isinstance(environment, Environment):
        raise WebserviceException(f"environment must be an Environment, not {type(environment).__name__}.")
    docker = environment.docker
    no_effect("Environment, in a service", base_dockerfile=docker.base_dockerfile or None)
    definition = {**environment.to_definition(), "docker": None}
    python = environment.python
    own = bool(python.user_managed_dependencies)
    if not own and _imports_schema(source):
        definition = _with_schema(definition)
    interpreter = None
    if own:
        named = python.interpreter_path
        interpreter = sys.executable if not named or named == "python" else str(named)
    return EnvironmentSpec(
        name=environment.name,
        version=environment.version,
        user_managed=own,
        interpreter=interpreter,
        variables=environment._variables(),
        definition=definition,
    )


def relax_pins() -> bool:
    return os.environ.get("TRAINYARD_RELAX_PINS", "") not in ("", "0")


def files(workspace: Workspace, paths: list[str]) -> str:
    """Some files and folders side by side, each under its own last name."""
    from trainyard.blobs.bundle import Bundled, bundle

    found: dict[str, str] = {}
    for path in paths:
        if os.path.isdir(path):
            base = os.path.basename(os.path.abspath(path))
            for top, _, names in os.walk(path):
                for name in names:
                    full = os.path.join(top, name)
                    found[f"{base}/{os.path.relpath(full, path)}".replace(os.sep, "/")] = full
        elif os.path.isfile(path):
            found[os.path.basename(path)] = path
        else:
            raise WebserviceException(f"There is no file {os.path.abspath(path)}. Check the path.")
    store = workspace._connection.blobs()
    with sdk_errors():
        blobs = store.put_files(list(found.values()))
        pairs = zip(found, blobs, strict=True)
        return bundle(store, [Bundled(name, blob.size, blob.digest) for name, blob in pairs])


def _folder(workspace: Workspace, folder: str) -> tuple[str, str]:
    """The tree of a source directory, which keeps its own name in it; and that name."""
    from trainyard.blobs.bundle import bundle
    from trainyard.sdk.submitting.submit import take_snapshot

    try:
        snapshot_id, _ = take_snapshot(workspace, folder)
    except AzureMLException as error:
        raise WebserviceException(error.message, error) from error
    name = os.path.basename(os.path.realpath(folder)) or "source"
    with sdk_errors():
        return bundle(workspace._connection.blobs(), [], [(name, snapshot_id)]), name


def _defined(tree: ast.Module) -> set[str]:
    """The names that a module binds at its top, also inside `if` and `try`; a star import may bind any."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            found |= {"init", "run"} if "*" in names else names
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        elif not isinstance(node, ast.expr):
            waiting += ast.iter_child_nodes(node)
    return found


def _imports_schema(source: str) -> bool:
    paths = [source]
    if os.path.isdir(source):
        paths = [os.path.join(top, name) for top, _, names in os.walk(source) for name in names if name.endswith(".py")]
    return any(_mentions(path) for path in paths)


def _mentions(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return _SCHEMA in file.read()
    except OSError:
        return False


def _with_schema(definition: dict[str, Any]) -> dict[str, Any]:
    """Unless it is named already, in whatever form."""
    python = dict(definition.get("python") or {})
    conda = dict(python.get("condaDependencies") or {})
    entries = list(conda.get("dependencies") or [])
    pip = [line for entry in entries if isinstance(entry, dict) for line in entry.get("pip") or []]
    if any(str(line).replace("_", "-").lower().startswith("inference-schema") for line in pip):
        return definition
    entries = [entry for entry in entries if not isinstance(entry, dict)]
    conda["dependencies"] = [*entries, {"pip": [*pip, "inference-schema"]}]
    return {**definition, "python": {**python, "condaDependencies": conda}}
