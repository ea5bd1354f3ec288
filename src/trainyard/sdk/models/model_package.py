"""Packages: a service as a folder, with everything a container of it needs and a Dockerfile that makes one. No
container engine is asked: `docker build` of that folder is the reader's."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Any

from trainyard.contract.codec import to_json
from trainyard.contract.endpoints import Recognised, VersionSpec
from trainyard.contract.serving import PLAN_FILE, Scorer, ScorerKind, ServicePlan
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import WebserviceException, sdk_errors

if TYPE_CHECKING:
    from trainyard.sdk.models.model import Model
    from trainyard.sdk.workspace import Workspace

PORT = 5001  # as Azure's scoring containers had
_APP, _SERVICE, _RUNTIME = "/var/azureml-app", "/var/azureml-service", "/opt/trainyard"
_INTERPRETER = "/opt/conda/envs/scoring/bin/python"
_ROOMS = ("contract", "client", "sdk", "blobs", "shims", "scoring", "serving")  # of ours, for the front and its workers
_FRONT_NEEDS = ("httptools", "starlette", "uvicorn", "uvloop")
_PYTHON, _OLDEST_PYTHON = "python=3.11", (3, 8)
_OF_AZURE = ("azureml-", "azureml_")  # our runtime is in their place

_DOCKERFILE = f"""\
# Made by Model.package: the service {{name}}.
#     docker build -t {{tag}} . && docker run -p {PORT}:{PORT} {{tag}}
FROM continuumio/miniconda3

RUN pip install --no-cache-dir {" ".join(_FRONT_NEEDS)}
COPY conda_dependencies.yml /tmp/
RUN conda env create --quiet --name scoring --file /tmp/conda_dependencies.yml && conda clean --all --yes

COPY runtime/ {_RUNTIME}/
COPY app/ {_APP}/
COPY {PLAN_FILE} {_SERVICE}/

ENV PYTHONPATH={_RUNTIME} TRAINYARD_HOME={_SERVICE}/home PYTHONUNBUFFERED=1{{variables}}
EXPOSE {PORT}
HEALTHCHECK CMD python -c "import urllib.request as r; r.urlopen('http://127.0.0.1:{PORT}/')"
CMD ["python", "-m", "trainyard.serving.front", "{_SERVICE}"]
"""


class ModelPackage:
    """What a container is made of. `save(folder)` writes it."""

    def __init__(
        self,
        workspace: Workspace,
        operation_id: str,
        environment: Any,
        *,
        _spec: VersionSpec | None = None,
        _recognised: Recognised | None = None,
        _models: list[Model] | None = None,
        _tag: str = "service",
        _generate_dockerfile: bool = True,
    ) -> None:
        self.workspace = workspace
        self.environment = environment
        self.generate_dockerfile = _generate_dockerfile
        self.state = "Succeeded"
        self.error: Any = None
        self.location: str | None = None  # the folder it was saved to last
        self.package_build_log_uri: str | None = None
        self._operation_id, self._spec, self._recognised = operation_id, _spec, _recognised
        self._models, self._tag = _models or [], _tag
        self._log = f"Collected {len(self._models)} model(s) for {_tag}.\n"

    def wait_for_creation(self, show_output: bool = False) -> None:
        """There is nothing to wait for: it was collected when it was asked for."""
        if show_output:
            print(f"Package creation {self.state}")

    def update_creation_state(self) -> None:
        return

    def get_logs(self, decode: bool = True, offset: int = 0) -> Any:
        text = self._log[offset:]
        return text if decode else text.encode()

    def get_container_registry(self) -> Any:
        raise WebserviceException("Trainyard pushes images to no registry. Use save(folder) and `docker build` there.")

    def pull(self) -> None:
        raise WebserviceException(
            "No image was built: Trainyard asks no container engine for one. Use save(folder) and `docker build` there."
        )

    def serialize(self) -> dict[str, Any]:
        return {"operationId": self._operation_id, "state": self.state, "location": self.location, "tag": self._tag}

    def save(self, output_directory: str) -> None:
        """Writes Dockerfile, conda_dependencies.yml, plan.json, app/ (code and models) and runtime/ (what serves them).
        The folder must be new or empty."""
        folder = os.path.abspath(output_directory)
        if os.path.isdir(folder) and os.listdir(folder):
            raise WebserviceException(f"{folder} is not empty. Give save() a new folder.")
        assert self._spec is not None
        os.makedirs(folder, exist_ok=True)
        self._lay_out(os.path.join(folder, "app"))
        _copy_runtime(os.path.join(folder, "runtime"))
        definition = self._definition()
        variables = {str(k): str(v) for k, v in (definition.get("environmentVariables") or {}).items()}
        _write(os.path.join(folder, PLAN_FILE), json.dumps(to_json(self._plan()), indent=1))
        _write(os.path.join(folder, "conda_dependencies.yml"), conda_file(definition))
        lines = "".join(f" \\\n    {name}={json.dumps(value)}" for name, value in sorted(variables.items()))
        _write(os.path.join(folder, "Dockerfile"), _DOCKERFILE.format(name=self._tag, tag=self._tag, variables=lines))
        self.location = folder
        self._log += f"Saved to {folder}.\n"

    def _lay_out(self, app: str) -> None:
        from trainyard.blobs.snapshot import materialise
        from trainyard.sdk.models.model_files import FOLDER

        assert self._spec is not None
        store = self.workspace._connection.blobs()
        with sdk_errors():
            os.makedirs(app)
            if self._spec.code is not None:
                materialise(store, self._spec.code.content, app)
            for model in self._models:
                materialise(store, model._record.content, os.path.join(app, FOLDER, model.name, str(model.version)))

    def _plan(self) -> ServicePlan:
        from trainyard.sdk.models.model_files import FOLDER

        assert self._spec is not None
        models = f"{_APP}/{FOLDER}"
        if len(self._models) == 1:
            models = f"{models}/{self._models[0].name}/{self._models[0].version}"
        code, found = self._spec.code, self._recognised
        scorer = Scorer(
            version="1",
            interpreter=_INTERPRETER,
            models=models,
            kind=found.kind if found is not None else ScorerKind.SCRIPT,
            source=_APP,
            entry_script=code.entry_script if code is not None else None,
            model_path=f"{models}/{found.model_path}" if found is not None else None,
            variables=dict(code.environment.variables) if code is not None else {},
        )
        return ServicePlan(self._tag.partition(":")[0], generation=1, host="0.0.0.0", port=PORT, scorers=(scorer,))  # noqa: S104 - inside a container

    def _definition(self) -> dict[str, Any]:
        assert self._spec is not None
        if self._recognised is not None:
            return self._recognised.environment
        return self._spec.code.environment.definition if self._spec.code is not None else {}


def package(
    workspace: Workspace,
    models: Any,
    inference_config: Any,
    generate_dockerfile: bool,
    image_name: str | None,
    image_label: str | None,
) -> ModelPackage:
    from trainyard.contract.names import new_id
    from trainyard.sdk.errors import AzureMLException
    from trainyard.sdk.models.model import Model
    from trainyard.sdk.services.deploy import as_users, check_no_code, model_refs, scoring_code

    if not generate_dockerfile:
        no_effect("Model.package", generate_dockerfile=False)
    refs = model_refs(workspace, models)
    if inference_config is None:
        check_no_code(refs)
    code = scoring_code(workspace, inference_config)
    if code is not None and code.environment.user_managed:
        raise WebserviceException(
            "A package brings its own Python, so its environment cannot be user-managed. Name the packages it needs in "
            "environment.python.conda_dependencies."
        )
    spec = VersionSpec(refs, code)
    try:
        recognised = None if code is not None else workspace._clients.services.recognise(spec)
    except AzureMLException as error:
        raise as_users(error) from error
    tag = (image_name or (refs[0].name if refs else "service")).lower() + (f":{image_label}" if image_label else "")
    return ModelPackage(
        workspace,
        new_id(),
        inference_config.environment if inference_config is not None else None,
        _spec=spec,
        _recognised=recognised,
        _models=[Model(workspace, id=f"{ref.name}:{ref.version}") for ref in refs],
        _tag=tag,
        _generate_dockerfile=generate_dockerfile,
    )


def conda_file(definition: dict[str, Any]) -> str:
    """The environment's packages as conda reads them, without Azure's own, whose place our runtime takes."""
    conda = (definition.get("python") or {}).get("condaDependencies") or {}
    entries = conda.get("dependencies") or []
    plain = [entry for entry in entries if isinstance(entry, str)]
    pip = [line for entry in entries if isinstance(entry, dict) for line in entry.get("pip") or []]
    pip = [line for line in pip if not str(line).lower().startswith(_OF_AZURE)]
    plain = [_PYTHON if _is_too_old(entry) else entry for entry in plain]
    if not any(re.match(r"python\b", entry) for entry in plain):
        plain.insert(0, _PYTHON)
    lines = ["name: scoring", "channels:", *(f"- {channel}" for channel in conda.get("channels") or ["conda-forge"])]
    lines += ["dependencies:", *(f"- {entry}" for entry in [*plain, "pip"])]
    if pip:
        lines += ["- pip:", *(f"  - {json.dumps(str(line))}" for line in pip)]
    return "\n".join(lines) + "\n"


def _is_too_old(entry: str) -> bool:
    """Whether it pins a Python that our runtime does not start on. CondaDependencies fills such a one in by itself."""
    pinned = re.fullmatch(r"python\s*={1,2}\s*(\d+)\.(\d+).*", entry)
    return pinned is not None and (int(pinned[1]), int(pinned[2])) < _OLDEST_PYTHON


def _copy_runtime(folder: str) -> None:
    import trainyard

    ours = os.path.dirname(os.path.abspath(trainyard.__file__))
    if not os.path.isdir(os.path.join(ours, "serving")):
        raise WebserviceException("A package is made where Trainyard is installed, not inside of a job.")
    only_sources = shutil.ignore_patterns("__pycache__", "*.pyc")
    os.makedirs(os.path.join(folder, "trainyard"))
    shutil.copyfile(os.path.join(ours, "__init__.py"), os.path.join(folder, "trainyard", "__init__.py"))
    for room in _ROOMS:
        shutil.copytree(os.path.join(ours, room), os.path.join(folder, "trainyard", room), ignore=only_sources)
    shutil.copytree(_azureml(ours), os.path.join(folder, "azureml"), ignore=only_sources)


def _azureml(ours: str) -> str:
    beside = os.path.join(os.path.dirname(ours), "azureml")
    if os.path.isdir(beside):
        return beside
    import importlib.util

    found = importlib.util.find_spec("azureml")
    return next(iter(found.submodule_search_locations or ())) if found is not None else beside


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
