"""A model's files: taken from this machine, laid out on it, found on it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from trainyard.contract.models import ModelQuery, ModelSource, as_json
from trainyard.contract.names import check_name
from trainyard.sdk.errors import AzureMLException, WebserviceException, sdk_errors

if TYPE_CHECKING:
    from trainyard.blobs.trees import Tree
    from trainyard.sdk.models.model import Model
    from trainyard.sdk.workspace import Workspace

FOLDER = "azureml-models"  # below a job's or a service's working folder: <name>/<version>/ of each
MODEL_DIR = "AZUREML_MODEL_DIR"

# How the SDK and MLflow write the address of a run's artifact.
_ADDRESSES = (
    re.compile(r"aml://artifact(?:Id)?/(?:ExperimentRun/)?dcid\.(?P<run>[^/]+)/(?P<path>.+)"),
    re.compile(
        r"(?:runs:/|azureml://(?:.*/)?(?:jobs|runs)/)(?P<run>[^/]+)/(?:outputs/artifacts/(?:paths/)?)?(?P<path>.+)"
    ),
)


def source_of(workspace: Workspace, model_path: Any, child_paths: list[str] | None) -> ModelSource:
    """Where a new model's content is. What is on this machine is stored as it is now."""
    path = os.fspath(model_path)
    for form in _ADDRESSES:
        if found := form.fullmatch(path):
            children = tuple(child_paths or ())
            return ModelSource(path=unquote(found["path"]), run_id=found["run"], child_paths=children)
    if "://" in path:
        raise WebserviceException(
            f"{path} is not the address of a run's artifact. Those look like "
            "aml://artifactId/ExperimentRun/dcid.<run id>/outputs/model; download anything else first."
        )
    return ModelSource(content=stored(workspace, path, child_paths))


def stored(workspace: Workspace, path: str, child_paths: list[str] | None = None) -> str:
    """The digest of a file's or folder's tree, which is in the store when this returns."""
    from trainyard.blobs.bundle import bundle_path

    full = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(full):
        raise WebserviceException(f"Error, provided model path {path!r} cannot be found (it is {full} from here).")
    if child_paths is not None and not os.path.isdir(full):
        raise WebserviceException(f"child_paths are paths below a folder, and {path} is a file. Leave them out.")
    for child in child_paths or ():
        if (
            not os.path.exists(os.path.join(full, child))
            or os.path.relpath(os.path.join(full, child), full)[:2] == ".."
        ):
            raise WebserviceException(f"{child!r} among child_paths is not below {full}. Check the paths.")
    if os.path.isdir(full) and not any(files for _, _, files in os.walk(full)):
        raise WebserviceException(f"The folder {full} holds no file, so there is no model in it. Check the path.")
    with sdk_errors():
        return bundle_path(workspace._connection.blobs(), full, child_paths or ())


def lay_out(model: Model, target_dir: str, exist_ok: bool) -> str:
    """Writes the files below `target_dir`, each checked; answers the path of the one file or folder that it is."""
    from trainyard.blobs.snapshot import materialise
    from trainyard.blobs.trees import walk

    store, folder = model.workspace._connection.blobs(), os.path.abspath(target_dir)
    with sdk_errors():
        top = walk(store, model._record.content)[0][1]
        names = [line.name for lines in (top.files, top.folders) for line in lines]
        there = [name for name in names if os.path.lexists(os.path.join(folder, name))]
        if there and not exist_ok and not _is_there(top, folder):
            raise WebserviceException(
                f"{os.path.join(folder, there[0])} exists already. Choose another target_dir, or pass exist_ok=True."
            )
        materialise(store, model._record.content, folder)
    return os.path.join(target_dir, names[0]) if len(names) == 1 else target_dir


def _is_there(top: Tree, folder: str) -> bool:
    """Whether the model is one file, and what is there is that file: nothing of the user's would be lost."""
    from trainyard.blobs.base import digest_of

    if top.folders or len(top.files) != 1:
        return False
    path = os.path.join(folder, top.files[0].name)
    return os.path.isfile(path) and digest_of(path).digest == top.files[0].digest


def model_path_here(name: str, version: int | None, workspace: Workspace | None) -> str:
    """In a scoring script the service's own models count; in a job and on a laptop those that lie in the working
    folder, else what the registry has. A file of that name here is taken when there is no registry to ask."""
    check(name)
    if (root := _of_service()) is not None:
        return _among(root, name, version)
    laid = os.path.join(FOLDER, name)
    if version is not None and os.path.isdir(os.path.join(laid, str(version))):
        return _among(FOLDER, name, version)
    workspace = workspace or _workspace_of_run()
    if workspace is None and os.path.isdir(laid):
        return _among(FOLDER, name, version)
    if workspace is None and os.path.exists(name):
        return name
    return _fetched(workspace or _workspace_of_config(name), name, version)


def check(name: str) -> None:
    try:
        with sdk_errors():
            check_name("a model", name)
    except AzureMLException as error:
        raise WebserviceException(error.message, error.inner_exception) from error


def file_names(model: Model) -> list[str]:
    from trainyard.blobs.snapshot import read_manifest

    with sdk_errors():
        return [entry.path for entry in read_manifest(model.workspace._connection.blobs(), model._record.content)]


def addresses(model: Model) -> dict[str, str]:
    from trainyard.blobs.snapshot import read_manifest
    from trainyard.contract.service import API

    connection = model.workspace._connection
    with sdk_errors():
        entries = read_manifest(connection.blobs(), model._record.content)
    return {entry.path: f"{connection.http.url}{API}/blobs/{entry.digest}" for entry in entries if entry.link is None}


def serialized(model: Model) -> dict[str, Any]:
    record = model._record
    return {
        "id": model.id,
        "name": model.name,
        "version": model.version,
        "description": model.description,
        "tags": model.tags,
        "properties": model.properties,
        "framework": model.model_framework,
        "frameworkVersion": model.model_framework_version,
        "mimeType": model.mime_type,
        "unpack": model.unpack,
        "url": model.url,
        "createdTime": model.created_time.isoformat(),
        "runId": model.run_id,
        "experimentName": model.experiment_name,
        "sampleInputDatasetId": record.sample_input_dataset,
        "sampleOutputDatasetId": record.sample_output_dataset,
        "resourceRequirements": as_json(record.resources),
        "datasets": [{"name": purpose, "id": dataset} for purpose, dataset in record.datasets],
        "aliases": model.aliases,
        "size": record.size,
    }


def _of_service() -> str | None:
    """The folder of a service's models, in a scoring script: AZUREML_MODEL_DIR is that, or one model's own."""
    given = os.environ.get(MODEL_DIR)
    if not given:
        return None
    while os.path.basename(given) != FOLDER:
        above = os.path.dirname(given)
        if above == given:
            return None
        given = above
    return given


def _among(root: str, name: str, version: int | None) -> str:
    folder = os.path.join(root, name)
    there = sorted((int(it) for it in os.listdir(folder) if it.isdigit()) if os.path.isdir(folder) else ())
    if not there or (version is not None and version not in there):
        wanted = f"{name} version {version}" if version is not None else name
        known = ", ".join(sorted(os.listdir(root))) if os.path.isdir(root) else "none"
        raise WebserviceException(f"Model {wanted} is not among those here (there are: {known}). Deploy it with them.")
    return _entry(os.path.join(folder, str(version if version is not None else there[-1])))


def _entry(folder: str) -> str:
    """The one file or folder in it; of several, the folder that holds them."""
    names = os.listdir(folder)
    return os.path.join(folder, names[0]) if len(names) == 1 else folder


def _fetched(workspace: Workspace, name: str, version: int | None) -> str:
    from trainyard.sdk.models.model import Model

    model = Model(workspace, _record=workspace._clients.models.find(ModelQuery(name=name, version=version)))
    folder = os.path.join(FOLDER, model.name, str(model.version))
    if not os.path.isdir(folder):
        import shutil

        aside = f"{folder}.{os.getpid()}.new"
        lay_out(model, aside, exist_ok=True)
        try:
            os.rename(aside, folder)
        except OSError:  # another process of this job was quicker
            shutil.rmtree(aside, ignore_errors=True)
    return _entry(folder)


def _workspace_of_run() -> Workspace | None:
    from trainyard.sdk.runs.submitted_run import run_of_this_process

    run = run_of_this_process()
    return run.experiment.workspace if run is not None else None


def _workspace_of_config(name: str) -> Workspace:
    from trainyard.sdk.workspace import Workspace

    try:
        return Workspace.from_config()
    except AzureMLException as error:
        raise WebserviceException(
            f"Model {name} not found in cache at {FOLDER} or in current working directory {os.getcwd()}, and there is "
            "no config.json that names a workspace to fetch it from.",
            error,
        ) from error
